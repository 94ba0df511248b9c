"""The estimator as a user of scikit-learn meets it: arrays of images, embeddings, and what is known of the shortcut."""

import copy
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch import nn

import fairflac
from estimator.planted import TOY, TOY_NET, Digits, digits, embedded, lines
from fairflac import FLACClassifier
from fairflac.errors import UserError


def test_importing_the_package_brings_no_torch() -> None:
    script = "import sys, fairflac; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_package_has_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'FLACRegressor'"):
        fairflac.FLACRegressor  # noqa: B018


@pytest.fixture(scope="module", params=["32-true", "bf16-mixed"])
def images(request: pytest.FixtureRequest) -> FLACClassifier:
    x, y, _ = lines()
    settings = {**TOY_NET["settings"], "precision": request.param}
    return FLACClassifier(**TOY, net=TOY_NET["net"], settings=settings).fit(x, y)


def test_images_with_labels_in_words(images: FLACClassifier) -> None:
    x, y, _ = lines(20, seed=1)
    assert list(images.classes_) == ["horizontal", "vertical"]
    shares = images.predict_proba(x)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_array_equal(images.predict(x), images.classes_[shares.argmax(1)])
    assert images.score(x, y) == np.mean(images.predict(x) == y)
    assert len(images.history_) == 2 and images.history_[-1]["pairs"] > 0
    assert images.bias_quality_["n"] == 48 and not hasattr(images, "n_features_in_")


def test_probabilities_are_those_of_the_network(images: FLACClassifier) -> None:
    x, _, _ = lines(5, seed=2)
    mean, std = (torch.tensor(part).view(3, 1, 1) for part in (images.method_.spec.mean, images.method_.spec.std))
    with torch.no_grad():
        logits = images.method_.net((torch.from_numpy(x).permute(0, 3, 1, 2) / 255 - mean) / std).logits
    np.testing.assert_allclose(images.predict_proba(x), logits.softmax(1).numpy(), atol=1e-5)


def test_images_of_another_size_and_grey_ones(images: FLACClassifier) -> None:
    x, _, _ = lines(6)
    larger = x.repeat(2, 1).repeat(2, 2)
    assert images.predict_proba(larger).shape == (6, 2)
    np.testing.assert_array_equal(images.predict(x[..., 0]), images.predict(x[..., :1].repeat(3, axis=3)))


def test_the_same_seed_is_the_same_model_and_torchs_generator_is_left_alone() -> None:
    x, y, _ = lines()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again = (FLACClassifier(**TOY, **TOY_NET).fit(x, y).predict_proba(x) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert torch.equal(before, torch.get_rng_state())
    other = FLACClassifier(**{**TOY, "random_state": 1}, **TOY_NET).fit(x, y).predict_proba(x)
    assert not np.array_equal(first, other)


def test_copies_and_pickles_predict_the_same(images: FLACClassifier) -> None:
    x, _, _ = lines(6)
    for other in (copy.deepcopy(images), pickle.loads(pickle.dumps(images))):
        np.testing.assert_array_equal(other.predict_proba(x), images.predict_proba(x))
    fresh = clone(images)
    assert fresh.get_params() == images.get_params() and not hasattr(fresh, "classes_")


def test_a_batch_may_be_larger_than_the_data() -> None:
    x, y, _ = lines(10)
    assert FLACClassifier(epochs=1, batch_size=500, random_state=0, **TOY_NET).fit(x, y).predict(x).shape == (10,)


def test_in_a_grid_search_and_in_cross_validation() -> None:
    x, y, _ = lines(24)
    model = FLACClassifier(epochs=1, random_state=0, **TOY_NET)
    assert cross_val_score(model, x, y, cv=2).shape == (2,)
    assert set(GridSearchCV(model, {"alpha": [1.0, 10.0]}, cv=2).fit(x, y).best_params_) == {"alpha"}


def test_embeddings_from_a_file(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 6))
    y = x[:, 0] > 0
    np.save(tmp_path / "x.npy", x)
    model = FLACClassifier(epochs=8, random_state=0).fit(str(tmp_path / "x.npy"), y)
    assert model.n_features_in_ == 6 and model.classes_.dtype == bool
    np.testing.assert_array_equal(model.predict(tmp_path / "x.npy"), model.predict(x))


def test_a_taught_bias_model_is_judged_by_the_attribute() -> None:
    x, y, shade = lines(96)
    taught = FLACClassifier("flac", **{**TOY, "epochs": 8}, **TOY_NET).fit(
        x, y, attribute=np.array(["dark", "bright"])[shade]
    )
    assert taught.bias_quality_["agreement:attribute"] > 0.9 and taught.bias_quality_["s.recall"] > 0


def test_features_of_the_shortcut_instead_of_a_bias_model() -> None:
    """Pairs that they give are exactly those of the attribute, counted by hand."""
    x, y, shade = lines(16)
    model = FLACClassifier(epochs=1, random_state=0, **TOY_NET).fit(x, y, bias_features=np.eye(2)[shade])
    same_class, same_shade = y[:, None] == y, shade[:, None] == shade
    assert model.bias_quality_["pairs"] == (same_class ^ same_shade).sum()


def test_methods_that_see_the_attribute() -> None:
    x, y, shade = lines(24)
    model = FLACClassifier("groupdro", epochs=1, random_state=0, **TOY_NET).fit(x, y, attribute=shade)
    assert model.bias_quality_ == {} and model.predict(x).shape == (24,)


def test_a_flac_that_does_nothing_says_so() -> None:
    x, y, _ = lines(24)
    with pytest.warns(ConvergenceWarning, match="bias model's features are nearly the same"):
        FLACClassifier(epochs=1, random_state=0, **TOY_NET).fit(x, y, bias_features=np.ones((24, 3)))


def test_an_interrupt_interrupts() -> None:
    x, y, _ = lines(96)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        FLACClassifier("vanilla", epochs=100_000, random_state=0, **TOY_NET).fit(x, y)
    timer.join()


X, Y, SHADE = lines(24)
VECTORS = X.reshape(24, -1)[:, :5].astype(np.float64)


@pytest.mark.parametrize(
    ("options", "x", "y", "known", "message"),
    [
        ({}, X.astype(float), Y, {}, r"\(24, 12, 12, 3\) and type float64 is none of: uint8 images"),
        ({}, X, None, {}, "y is None"),
        ({}, X, np.zeros(24), {}, "only one class"),
        ({}, X, Y[:5], {}, "inconsistent numbers of samples"),
        ({}, X, Y, {"attribute": SHADE[:5]}, "one value for each row"),
        ({}, X, Y, {"attribute": np.ones(24)}, "in every row"),
        ({}, X, Y, {"bias_features": np.ones((3, 2))}, "3 rows and X 24"),
        ({}, X, Y, {"attribute": SHADE, "bias_features": SHADE[:, None]}, "give one of them"),
        ({"method": "vanilla"}, X, Y, {"attribute": SHADE}, "no use for the attribute"),
        ({"method": "vanilla"}, X, Y, {"bias_features": SHADE[:, None]}, "has no bias model"),
        ({"method": "jtt"}, X, Y, {"bias_features": SHADE[:, None]}, "asks its bias model for classes"),
        ({"method": "flac"}, X, Y, {}, "take 'flac-b'"),
        ({"method": "groupdro"}, X, Y, {}, "give them to fit as attribute"),
        ({"method": "hex"}, VECTORS, Y, {}, "needs images, and these are vectors"),
        ({"method": "flak"}, X, Y, {}, "did you mean 'flac'"),
        ({"net": "resnet"}, X, Y, {}, "did you mean 'resnet18'"),
        ({"net": "resnet18"}, VECTORS, Y, {}, "is for images"),
        ({"bias_model": "small"}, VECTORS, Y, {}, "simple-conv as second network or bias model"),
        ({"augment": "crop-flip"}, VECTORS, Y, {}, "vectors are not images"),
        ({"method": "lnl"}, VECTORS, Y, {"attribute": SHADE}, "MLP has none"),
        ({"method": "rebias", "net": nn.Sequential(nn.Flatten(), nn.Linear(432, 2))}, X, Y, {}, "second network"),
        ({"settings": {"selection": "accuracy"}}, X, Y, {}, "'selection' cannot be set here"),
        ({"settings": {"epoch": 3}}, X, Y, {}, "did you mean 'epochs'"),
        ({"epochs": -1}, X, Y, {}, "epochs = -1 is not valid"),
        ({}, "nowhere.npy", Y, {}, "no file 'nowhere.npy'"),
        ({}, [Path("a.png"), Path("b.png")], Y[:2], {}, "a list of files has no labels"),
    ],
)
def test_mistakes_are_told_in_a_line(options: dict, x: object, y: object, known: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises((UserError, ValueError), match=message):
        FLACClassifier(**{"epochs": 1, "random_state": 0, **options}).fit(x, y, **known)


def test_x_must_stay_what_it_was(images: FLACClassifier) -> None:
    with pytest.raises(ValueError, match="fitted on images, asked to predict vectors"):
        images.predict(VECTORS)
    with pytest.raises(ValueError, match="y is missing"):
        images.score(X)


def accuracies(train: Digits, test: Digits, **options: object) -> tuple[float, float]:
    """Of vanilla and of FLAC-B without labels of the colour, on digits of any colour."""
    scores = [
        FLACClassifier(method, random_state=0, **options).fit(train.x, train.y).score(test.x, test.y)
        for method in ("vanilla", "flac-b")
    ]
    return scores[0], scores[1]


def test_embeddings_with_a_shortcut() -> None:
    train, test = (part._replace(x=embedded(part.x)) for part in (digits("train"), digits("test")))
    vanilla, flac = accuracies(train, test, epochs=10)
    assert flac > vanilla + 0.1


@pytest.mark.slow
def test_embeddings_with_a_shortcut_at_length() -> None:
    train, test = (part._replace(x=embedded(part.x)) for part in (digits("train"), digits("test")))
    vanilla, flac = accuracies(train, test)
    assert flac > vanilla + 0.15 and flac > 0.6


def test_coloured_digits_go_through() -> None:
    """The path of the long test below, on so little that nothing is learnt."""
    train, test = digits("train"), digits("test")
    few = slice(None, None, 40)
    model = FLACClassifier(epochs=1, random_state=0).fit(train.x[few], train.y[few])
    assert model.method_.net.feature_dim == 64 and model.predict(test.x[few]).shape == (25,)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_coloured_digits() -> None:
    vanilla, flac = accuracies(digits("train"), digits("test"), epochs=10)
    assert flac > vanilla + 0.4
