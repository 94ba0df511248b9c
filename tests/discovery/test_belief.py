"""Which guess is believed: an attribute, and neither noise, the class itself nor hard images."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats.contingency import association as scipy_association

from fairflac.discovery.belief import (
    Belief,
    _ashman,
    _cut_normal,
    association,
    believe,
    check_order,
    ordinary_answers,
    separation,
    stability,
)
from fairflac.discovery.features import standardised
from fairflac.errors import UserError
from fairflac.metrics.evidence import count_guesses
from fairflac.metrics.intervals import Measured
from planted_features import planted


def test_association_is_cramers_v() -> None:
    rng = np.random.default_rng(0)
    y, guess = rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    guess = np.where(rng.random(200) < 0.5, y, guess)
    assert association(y, guess) == pytest.approx(scipy_association(count_guesses(y, guess), method="cramer"))
    assert association(y, y) == pytest.approx(1) and association(y, np.zeros(200, dtype=int)) == 0


def test_stability_does_not_mind_the_numbering() -> None:
    guess = np.array([0, 0, 1, 1, 2])
    assert stability(guess, 2 - guess) == 1 and stability(np.zeros(5, dtype=int), np.zeros(5, dtype=int)) == 0


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.02, 0.6), (0.1, 0.3)])
def test_the_yardstick_of_separation_by_simulation(shares: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [60_000, 40_000])
    score = rng.standard_normal(len(y))
    other = score > np.array([np.quantile(score[y == c], 1 - shares[c]) for c in (0, 1)])[y]
    for c in (0, 1):
        score[y == c] -= score[(y == c) & ~other].mean()
    usual, rest = score[~other], score[other]
    expected = (usual.mean(), usual.var(), rest.mean(), rest.var())
    assert _cut_normal(y, other) == pytest.approx(expected, abs=0.02)
    assert _ashman(0, 1, 3, 1) == 3


def test_separation_of_two_humps_of_one_and_of_noise() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((2000, 6)).astype(np.float32)
    y = rng.integers(0, 2, 2000)
    noise = rng.integers(0, 2, 2000)
    cut = (features[:, 0] + y > 1).astype(np.int64)
    humps = features + 6 * noise[:, None] * np.eye(6, dtype=np.float32)[0]
    assert separation(features, y, noise).value == pytest.approx(0, abs=0.1)
    assert separation(features, y, cut).value == pytest.approx(1, abs=0.15)
    found = separation(humps, y, noise)
    assert found.value > 1.8 and found.low < found.value < found.high
    assert separation(features, y, np.zeros(2000, dtype=int)).value == 0


def belief_of(guess: np.ndarray, again: np.ndarray | None = None, q: float = 0.9) -> Belief:
    features, y, _ = planted(q=q)
    x = standardised(features)
    return believe(x, ordinary_answers(x, y), guess, lambda: guess if again is None else again)


def test_the_attribute_is_believed() -> None:
    belief = belief_of(planted().attribute)
    assert belief.believed and belief.doubts() == [] and belief.score > 0.3


def test_what_is_weak_in_all_respects_is_not_believed() -> None:
    clear = belief_of(planted().attribute)
    n = clear.separation.n
    weak = replace(clear, separation=Measured(1.105, 1.101, 1.109, n))  # above its own bound
    assert weak.score < 0.1 and not weak.believed
    assert weak.doubts() == [f"All that speaks for it is weak: a score of {weak.score:.2f}, where 0.1 is asked for."]
    assert replace(clear, separation=Measured(1.3, 1.2, 1.4, n)).believed


def test_noise_the_class_and_an_unstable_guess_are_not() -> None:
    rng = np.random.default_rng(1)
    _, y, attribute = planted()
    noise, again = rng.integers(0, 2, (2, len(y)))
    assert belief_of(noise, again).score < 0.01 and len(belief_of(noise, again).doubts()) == 2
    assert belief_of(noise, again).stability is None  # nobody is asked twice for what is not believed anyway
    assert "too few" in belief_of(y).doubts()[0] and belief_of(y).score == 0
    almost = np.where(rng.random(len(y)) < 0.05, 1 - y, y)
    assert belief_of(almost).score < 0.01 and not belief_of(almost).believed
    assert belief_of(attribute, noise).doubts() == ["Other halves of the images give another guess."]


def test_hard_images_are_no_attribute() -> None:
    """No attribute at all: an ordinary model makes mistakes, and a guess that names these is followed by definition."""
    features, y, _ = planted(2000, attribute=0.0)
    x = standardised(features)
    answers = ordinary_answers(x, y)
    belief = believe(x, answers, answers.prediction, lambda: answers.prediction)
    assert belief.lean is not None and belief.lean.difference.low > 0.9
    assert not belief.believed and belief.separation.high < 1.1


def test_an_attribute_that_goes_with_no_class_is_no_shortcut() -> None:
    belief = belief_of(planted(q=0.5).attribute, q=0.5)
    assert belief.separation.low > 1.1 and not belief.believed and belief.score < 0.05


def test_rows_in_another_order_are_noticed() -> None:
    features, y, _ = planted(200)
    check_order(features, y, "features.npy")
    shuffled = features[np.random.default_rng(0).permutation(len(y))]
    with pytest.raises(UserError, match="in the order of the listing"):
        check_order(shuffled, y, "features.npy")
