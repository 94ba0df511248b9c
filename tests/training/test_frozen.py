"""Training the head of a frozen network: on embeddings that are computed once, and otherwise a run like any other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from safetensors.torch import save_file

from fairflac.config.run_config import RunConfig, resolve
from fairflac.data.base import BiasedDataset
from fairflac.errors import Stopped, UserError
from fairflac.estimator import FLACClassifier
from fairflac.exporting.formats import FORMATS, export
from fairflac.inference.open import open_model
from fairflac.inference.predict import answers
from fairflac.methods import METHODS, Method
from fairflac.nets.frozen import FrozenResNet18
from fairflac.nets.resnet import ResNet18
from fairflac.nets.weights import imagenet_file
from fairflac.runs.directory import Run, Workspace
from fairflac.system import checkpoint
from fairflac.training.build import build_method, load_method, load_split
from fairflac.training.engine import Training
from fairflac.training.pipeline import predict_run, train_config
from toy import CASES, TASK, prepared_training, toy_data

SMALL = {"net": "frozen-resnet18", "size": 32, "epochs": 3, "batch_size": 8, "width": 8}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of datasets with ImageNet weights, of a sort."""
    folder = tmp_path_factory.mktemp("root")
    torch.manual_seed(0)
    imagenet_file(folder).parent.mkdir()
    save_file(ResNet18(1000).state_dict(), imagenet_file(folder))
    return folder


def settled(method: str, photos: Path, root: Path, **changes: Any) -> RunConfig:
    return resolve("folder", method, 0, {"path": str(photos), **SMALL, **changes}, root)


def trained(config: RunConfig, root: Path, runs: Path) -> Run:
    run = train_config(config, Workspace(runs, root, silent=True))
    assert run is not None
    return run


@contextmanager
def embeddings_counted() -> Iterator[list[int]]:
    """How many images went through the frozen part, batch by batch."""
    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        embed = FrozenResNet18.embed
        patch.setattr(FrozenResNet18, "embed", lambda net, x: (seen.append(len(x)), embed(net, x))[1])
        yield seen


@pytest.fixture(scope="module")
def frozen_run(photos: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    with embeddings_counted() as seen:
        run = trained(settled("vanilla", photos, root), root, tmp_path_factory.mktemp("runs"))
    assert sum(seen) == 72  # every image of every split, in three epochs
    return run


def test_the_recipe_gives_up_what_is_for_images(photos: Path, root: Path) -> None:
    config = resolve("folder", "flac-b", 0, {"path": str(photos), "net": "frozen-resnet18"}, root)
    assert config.bias_model is not None
    for one in (config, config.bias_model):
        assert one.net_options == {"width": 256, "weights": "imagenet"} and one.data_options["size"] == 96
        assert (one.train.augment, one.train.bias_features, one.train.precision) == ("none", "cached", "32-true")


def test_the_frozen_part_is_as_its_file_has_it(frozen_run: Run, root: Path) -> None:
    net = load_method(frozen_run).net
    published = ResNet18(1000, weights=imagenet_file(root)).state_dict()
    kept = net.get_submodule("backbone.network").state_dict()
    assert all(torch.equal(value, published[name]) for name, value in kept.items()) and len(kept) == len(published) - 2
    assert frozen_run.env["weights"].startswith("imagenet") and frozen_run.result["from_scratch"] is False


def test_answers_from_files_are_those_of_the_run(frozen_run: Run, photos: Path, root: Path) -> None:
    data = load_split(settled("vanilla", photos, root), root, "test")
    assert data is not None
    table = frozen_run.predictions
    again = predict_run(frozen_run, data)
    np.testing.assert_allclose(again.features, table.features, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(again.score, table.score, atol=1e-4)
    model = open_model(frozen_run.path)
    said = list(answers(model, [photos / name for name in data.names]))
    assert model.classes is not None
    assert [one.guesses[0].name for one in said] == [model.classes[place] for place in table.prediction]
    np.testing.assert_allclose([one.guesses[0].probability for one in said], table.score, atol=1e-4)
    with embeddings_counted() as seen:
        kept = predict_run(frozen_run, data, cache=root / "cache")
    assert seen == [] and np.array_equal(kept.features, table.features)


@pytest.mark.parametrize("to", FORMATS)
def test_it_is_exported_with_its_frozen_part(frozen_run: Run, to: str, tmp_path: Path) -> None:
    """`export` itself compares the file with the run, in batches of two sizes."""
    if to == "onnx":
        pytest.importorskip("onnxruntime")
    done = export(frozen_run, to, tmp_path / f"model{FORMATS[to].endings[0]}")
    images = np.random.default_rng(1).integers(0, 256, (3, 36, 36, 3), dtype=np.uint8)
    np.testing.assert_allclose(open_model(done.file)(images), open_model(frozen_run.path)(images), atol=1e-4)
    assert done.card.read_text()


def test_a_second_run_embeds_nothing_anew(frozen_run: Run, photos: Path, root: Path, tmp_path: Path) -> None:
    with embeddings_counted() as seen:
        run = trained(settled("flac-b", photos, root, **{"bias_model.epochs": 1}), root, tmp_path)
    assert seen == [] and run.result["bias_model_quality"]["class_probe"] > 0
    assert run.predictions.guess is not None and len(run.history) == 3


def test_either_model_may_be_frozen_alone(frozen_run: Run, photos: Path, root: Path, tmp_path: Path) -> None:
    """A bias model sees images or embeddings as it needs them."""
    tiny = {"net": "simple-conv", "kernel_size": 3, "channels": [2, 2, 2, 2]}
    for_bias_model = {f"bias_model.{key}": value for key, value in {**tiny, "epochs": 1}.items()}
    first = trained(settled("flac-b", photos, root, **for_bias_model), root, tmp_path)
    frozen = {f"bias_model.{key}": SMALL[key] for key in ("net", "width")} | {"bias_model.epochs": 1}
    own = {key: value for key, value in SMALL.items() if key != "width"} | tiny
    whole = resolve("folder", "flac-b", 0, {"path": str(photos), **own, **frozen}, root)
    second = trained(whole, root, tmp_path)
    assert np.load(first.bias_features).shape[1] == 2 and np.load(second.bias_features).shape[1] == 8
    assert whole.train.augment == "crop-flip" and whole.bias_model and whole.bias_model.train.augment == "none"


def test_without_weights_nothing_begins(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run 'fairflac data get imagenet-weights'"):
        trained(settled("vanilla", photos, tmp_path), tmp_path, tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []


def test_weights_of_another_network_are_refused(photos: Path, root: Path, tmp_path: Path) -> None:
    torch.save(ResNet18(2, stem="cifar").state_dict(), tmp_path / "other.pth")
    config = settled("vanilla", photos, root, weights=str(tmp_path / "other.pth"))
    with pytest.raises(UserError, match="does not hold the weights of a ResNet18"):
        trained(config, root, tmp_path / "runs")
    assert not list((tmp_path / "runs").rglob("config.toml"))  # before any work


@pytest.mark.parametrize(
    ("method", "changes", "part"),
    [
        ("hex", {}, "'hex' needs images, and frozen-resnet18 is trained on embeddings"),
        ("vanilla", {"augment": "crop-flip"}, "set augment to none"),
        ("vanilla", {"epochs": 0}, "set epochs"),
        ("vanilla", {"width": 0}, "width = 0 is not valid"),
        ("flac-b", {"bias_features": "live"}, "bias_features = 'live' is for augmented images"),
        ("rebias", {}, "set biased_net.net=frozen-resnet18"),
        ("lff", {"biased_net.weights": "mine.pth"}, "with the same weights"),
    ],
)
def test_what_embeddings_cannot_do_is_said(
    method: str, changes: dict[str, Any], part: str, photos: Path, root: Path
) -> None:
    with pytest.raises(UserError) as error:
        settled(method, photos, root, **changes)
    assert part in str(error.value)


def embedded_toy(n: int = 96) -> BiasedDataset:
    """The toy task as vectors: its pixels, repeated to the length of an embedding."""
    data = toy_data(n)
    pixels = data.images.reshape(n, -1).astype(np.float32) / 255
    return BiasedDataset(np.tile(pixels, 5)[:, :512].copy(), data.y, data.bias, data.names, "train", data.task)


def head_training(name: str, folder: Path, fabric: Fabric, **train: object) -> Training:
    torch.manual_seed(0)
    kind: Any = METHODS[name]
    options = CASES[name][1]  # some have stages, and reach the second soon
    counts = [kind.num_logits(TASK)] + [kind.num_biased_logits(TASK)] * kind.needs_biased_net
    net, *biased = (FrozenResNet18(count, width=8) for count in counts)
    method: Method = kind(net, TASK, *biased, **options)
    data = embedded_toy()
    return prepared_training(method, data, folder, fabric, validation=data, **train)


NEEDS_MAPS = ("hex", "lnl", "gce-committee")


@pytest.mark.parametrize("name", [name for name in METHODS if name not in NEEDS_MAPS])
def test_every_method_trains_a_head(name: str, fabric: Fabric, tmp_path: Path) -> None:
    training = head_training(name, tmp_path, fabric, epochs=2)
    before = {key: value.clone() for key, value in training.method.state_dict().items()}
    training.fit(name, silent=True)
    after = training.method.state_dict()
    moved = {key for key, value in after.items() if not torch.equal(value, before[key])}
    assert {"net.hidden.weight", "net.fc.weight"} <= moved and not [key for key in moved if "backbone" in key]
    updated = {id(p) for group in training.optimisation.groups.values() for p in group}
    assert not updated & {id(p) for p in training.method.net.get_submodule("backbone").parameters()}


def test_resume_is_bit_exact(fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head_training("flac-b", tmp_path / "whole", fabric).fit("whole", silent=True)
    broken = head_training("flac-b", tmp_path / "broken", fabric)
    steps, maybe_save = iter(range(100)), broken._maybe_save

    def stop_in_the_second_epoch(stop: Any) -> None:
        if next(steps) == 4:
            stop.set()
        maybe_save(stop)

    monkeypatch.setattr(broken, "_maybe_save", stop_in_the_second_epoch)
    with pytest.raises(Stopped):
        broken.fit("broken", silent=True)
    head_training("flac-b", tmp_path / "broken", fabric).fit("resumed", silent=True)
    whole, resumed = (checkpoint.load(Run(tmp_path / name).last) for name in ("whole", "broken"))
    for part in ("method", "optimisation"):
        torch.testing.assert_close(whole[part], resumed[part], rtol=0, atol=0)


def test_a_method_that_listens_to_maps_has_none(photos: Path, root: Path) -> None:
    config = settled("vanilla", photos, root).model_copy(update={"method": "lnl", "method_options": {}})
    with pytest.raises(UserError, match="FrozenResNet18 has none"):
        build_method(config, TASK, root)


def test_the_estimator_trains_a_head(photos: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRFLAC_DATA", str(root))
    images, y = np.random.default_rng(0).integers(0, 256, (24, 32, 32, 3), dtype=np.uint8), np.arange(24) % 2
    model = FLACClassifier("flac-b", net="frozen-resnet18", epochs=2, batch_size=8, settings={"width": 8})
    with embeddings_counted() as seen:
        model.fit(images, y)
    assert sum(seen) == 24 and model.predict(images).shape == (24,)
