"""Evidence of guessed groups: each word by hand, how far a model leans against a loop, and pseudo-groups."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairflac.metrics import Measured, measure, summary
from fairflac.metrics.comparison import compare
from fairflac.metrics.evidence import (
    BOUNDS,
    FEWEST,
    NAME,
    GroupAccuracies,
    Kind,
    Strength,
    aligned_class,
    attribute_gaps,
    beside_guess,
    count_guesses,
    effect_of_training,
    effective_size,
    explained_by_attribute,
    follows_less,
    guessed_gains,
    lean,
    margin,
    strength,
    usual_values,
    with_guess,
    with_pseudo_groups,
    word,
)
from fairflac.metrics.groups import SMALL
from fairflac.metrics.predictions import Predictions
from prediction_table import make
from reporting.hand_made import PER_GROUP, table


@pytest.mark.parametrize("kind", BOUNDS)
def test_the_lower_end_decides(kind: Kind) -> None:
    def of(low: float) -> Strength:
        return strength(kind, Measured(1.0, low, 1.0, 100))

    assert of(BOUNDS[kind].sign) is Strength.NONE and of(BOUNDS[kind].sign + 0.001) is Strength.SIGN
    if BOUNDS[kind].lean < 1:
        assert of(BOUNDS[kind].lean) is Strength.SIGN and of(BOUNDS[kind].lean + 0.001) is Strength.LEAN
    assert strength(kind, None) is Strength.NONE


def test_words() -> None:
    none, sign, lean = Strength
    assert word([none, lean, sign], blind=True) == "leans on a shortcut"
    assert word([none, sign], blind=True) == "signs of a shortcut"
    assert word([none], blind=True) == "cannot tell"
    assert word([], blind=False) == "no evidence"


def test_gaps_of_attributes_by_hand() -> None:
    """Aligned groups are right on 90 %, all others on 20 %, of 20 images each."""
    (gap,) = attribute_gaps(table(0.9, 0.2)).values()
    assert gap.value == pytest.approx(0.7) and gap.n == 240  # 12 of 16 groups go against the attribute
    assert 0.55 < gap.low < gap.value < gap.high < 0.85
    assert attribute_gaps(table(0.5, 0.5))["hue"].low < 0 < attribute_gaps(table(0.5, 0.5))["hue"].high
    certain = attribute_gaps(table(1.0, 0.0))["hue"]
    assert certain.value == certain.high == 1 and 0.94 < certain.low < 1  # 80 images and 240, and not more
    nothing = attribute_gaps(table(0.0, 0.0))["hue"]
    assert nothing.low < nothing.value == 0 < nothing.high
    one_kind = table(0.9, 0.2)
    assert attribute_gaps(replace(one_kind, aligned={"hue": np.ones(len(one_kind), bool)})) == {}


def planted(
    agree: float, disagree: float, n: int, against: float, classes: int, named: float, seed: int
) -> Predictions:
    """A model with these accuracies; where it is wrong, it names the guess as often as `named` says."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    guess = np.where(rng.random(n) < against, (y + rng.integers(1, classes, n)) % classes, y)
    right = rng.random(n) < np.where(guess == y, agree, disagree)
    other = (y + rng.integers(1, classes, n)) % classes
    wrong = np.where((rng.random(n) < named) & (guess != y), guess, other)
    prediction = np.where(right, y, wrong)
    return Predictions(np.arange(n), y, prediction, np.ones(n), np.ones((n, 1)), {}, {}, guess=guess)


def test_right_where_the_guess_is_and_hardly_elsewhere_is_no_reassurance() -> None:
    """As a vanilla model of photographs did: 83 % and 13 %, naming other classes than the guess."""
    found = beside_guess(planted(0.83, 0.13, 600, 0.7, 6, 0.2, 0), classes=6)
    assert word([found.strength], blind=found.blind) == "signs of a shortcut"


def test_two_classes_never_prove_a_lean_on_a_guess() -> None:
    numbers = (1.0, 0.0, 400, 0.3)
    assert beside_guess(planted(*numbers, 2, 1.0, 0), classes=2).strength is Strength.SIGN
    assert beside_guess(planted(*numbers, 3, 1.0, 0), classes=3).strength is Strength.LEAN


def test_groups_that_discovery_believes_in_prove_a_lean_of_two_classes_too() -> None:
    """They are no mere hard images. What is wrong elsewhere is no sign of them."""
    followed = beside_guess(planted(0.9, 0.4, 400, 0.3, 2, 1.0, 0), classes=2, found=True)
    assert followed.lean is not None and followed.lean.difference.low > BOUNDS["found"].lean
    assert followed.strength is Strength.LEAN
    elsewhere = beside_guess(planted(0.9, 0.4, 400, 0.3, 6, 0.0, 0), classes=6, found=True)
    assert elsewhere.strength is Strength.NONE and strength("accuracy", elsewhere.gap) is Strength.SIGN
    assert beside_guess(planted(1.0, 0.0, 20, 0.3, 2, 1.0, 0), classes=2, found=True).strength is Strength.NONE


def test_a_class_that_is_suggested_may_be_one_that_nobody_named() -> None:
    y, guess = np.repeat([0, 1], 20), np.where(np.arange(40) % 4 == 0, 2, np.repeat([0, 1], 20))
    found = lean(Predictions(np.arange(40), y, y, np.ones(40), np.ones((40, 1)), {}, {}, guess=guess))
    assert found is not None and found.follows.value == 0 and found.follows.n == 10
    nobody = Predictions(*(np.zeros(0, int),) * 3, np.zeros(0), np.zeros((0, 1)), {}, {}, guess=np.zeros(0, int))
    assert lean(nobody) is None


def test_a_bias_model_that_knows_nothing_is_asked_in_vain() -> None:
    seen = planted(1.0, 0.0, 400, 0.3, 3, 1.0, 0)
    assert seen.guess is not None
    by_chance = beside_guess(seen, classes=3, trial=(seen.y, np.zeros_like(seen.y)))
    assert by_chance.by_chance and by_chance.blind and by_chance.strength is Strength.NONE
    assert not beside_guess(seen, classes=3, trial=(seen.y, seen.guess)).by_chance


SHARE = st.floats(0, 1)


@settings(deadline=None, max_examples=80)
@given(SHARE, SHARE, st.integers(20, 400), SHARE, st.integers(2, 6), SHARE, st.integers(0, 99))
def test_no_word_contradicts_its_numbers(
    agree: float, disagree: float, n: int, against: float, classes: int, named: float, seed: int
) -> None:
    found = beside_guess(planted(agree, disagree, n, against, classes, named, seed), classes=classes)
    said = word([found.strength], blind=found.blind)
    lows = {"accuracy": found.gap, "guess": found.lean and found.lean.difference}
    above = [one is not None and one.low > BOUNDS[kind].sign for kind, one in lows.items()]  # type: ignore[index]
    if said == "no evidence":
        assert not any(above) and found.against >= SMALL
    if said in ("signs of a shortcut", "leans on a shortcut"):
        assert any(above) and found.against >= FEWEST
    if said == "leans on a shortcut":
        assert classes > 2 and found.lean is not None and found.lean.difference.low > 0.6
    if said == "cannot tell":
        assert found.against < SMALL


def guessed(y: np.ndarray, prediction: np.ndarray, guess: np.ndarray | None) -> Predictions:
    n = len(y)
    return Predictions(np.arange(n), y, prediction, np.ones(n), np.zeros((n, 1)), {}, {}, guess=guess)


def slow(y: np.ndarray, prediction: np.ndarray, guess: np.ndarray) -> tuple[float, float]:
    """Image by image, as the docstring says it; images that have nothing to be compared with are left out."""
    follows, elsewhere = [], []
    for i in np.flatnonzero(guess != y):
        others = (y == y[i]) & (guess != guess[i])
        if others.any():
            follows.append(prediction[i] == guess[i])
            elsewhere.append(np.mean(prediction[others] == guess[i]))
    return float(np.mean(follows)), float(np.mean(elsewhere))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(20, 80))
@example(110, 5, 20)  # every group is named alike, and the mean over them is neither 0 nor 1
def test_is_what_a_loop_gives(seed: int, classes: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    y, prediction, guess = (rng.integers(0, classes, n) for _ in range(3))
    guess[:10], y[9:11], guess[9:11] = y[:10], 0, [0, 1]
    found = lean(guessed(y, prediction, guess))
    assert found is not None
    follows, elsewhere = slow(y, prediction, guess)
    assert found.follows.value == pytest.approx(follows)
    assert found.elsewhere.value == pytest.approx(elsewhere)
    assert found.difference.value == pytest.approx(follows - elsewhere)
    alone = [(guess[y == label] == guess[y == label][0]).all() for label in y]  # a class that is guessed one way
    assert found.follows.n == np.sum((guess != y) & ~np.array(alone))
    assert -1 <= found.difference.low <= found.difference.value <= found.difference.high <= 1
    assert found.difference.low < found.difference.high


def test_a_model_that_reads_nothing_else_follows_every_guess() -> None:
    y = np.repeat([0, 1, 2], 40)
    guess = y.copy()
    guess[::10] = (y[::10] + 1) % 3
    found = lean(guessed(y, guess, guess))
    assert found is not None and found.difference.value == 1
    assert 0.6 < found.difference.low < 1  # 12 images are no certainty


def test_three_images_that_follow_prove_nothing() -> None:
    """Of 500 others none is named so: the difference is no surer than those three."""
    y = np.repeat([0, 1, 2], 200)
    guess, said = y.copy(), y.copy()
    guess[:3], said[:3], said[300] = 1, 1, 2
    found = lean(guessed(y, said, guess))
    assert found is not None and found.difference.value == 1 and found.difference.low < 0.4


def test_a_class_that_is_guessed_one_way_has_nothing_to_compare_with() -> None:
    y = np.repeat([0, 1], 20)
    assert lean(guessed(y, np.zeros_like(y), np.zeros_like(y))) is None


def test_hard_images_are_not_a_shortcut() -> None:
    """Where the guess is wrong this model is wrong too, half of the time, but it does not name the guess."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 2000)
    guess = np.where(rng.random(2000) < 0.7, y, (y + 1) % 10)
    hard = (guess != y) & (rng.random(2000) < 0.5)
    found = lean(guessed(y, np.where(hard, (y + rng.integers(2, 10, 2000)) % 10, y), guess))
    assert found is not None and found.difference.high < 0.05


def test_values_of_an_attribute_speak_for_a_class() -> None:
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    guess = np.array([2, 2, 2, 0, 0, 0, 0, 2])  # value 2 goes with class 0, value 0 with class 1
    speaks_for = aligned_class(count_guesses(y, guess))
    assert speaks_for[[0, 2]].tolist() == [1, 0]
    found = lean(guessed(y, speaks_for[guess], guess), speaks_for)
    assert found is not None and (found.follows.value, found.elsewhere.value) == (1, 0)


def test_nothing_to_say() -> None:
    y = np.array([0, 1, 0, 1])
    assert lean(guessed(y, y, None)) is None
    assert lean(guessed(y, y, y)) is None  # a guess that is always right
    assert lean(guessed(y, y, 1 - y)) is None  # or never


Y, GUESS, PREDICTION = [0, 0, 0, 0, 1, 1, 1], [2, 2, 2, 1, 1, 1, 2], [0, 0, 1, 1, 1, 1, 0]


def test_a_guess_goes_with_the_class_that_mostly_has_it(tmp_path: Path) -> None:
    unknown = with_guess(make(Y, Y, PREDICTION, attributes=0), np.array(GUESS))
    unknown.save(tmp_path / "predictions.npz")
    table = with_pseudo_groups(Predictions.load(tmp_path / "predictions.npz"))
    assert table is not None
    assert table.aligned[NAME].tolist() == [True, True, True, False, True, True, False]
    numbers = summary(table)
    assert numbers["aligned"] == pytest.approx((2 / 3 + 1) / 2) and numbers["conflicting"] == 0


def test_what_is_usual_is_told_by_training_images() -> None:
    """In training a class was guessed as itself; of these test images most are guessed wrongly."""
    y, guess = np.array([0] * 10 + [1] * 10), np.array([1] * 7 + [0] * 3 + [0] * 8 + [1] * 2)
    seen = replace(make(y.tolist(), y.tolist(), guess.tolist(), attributes=0), guess=guess)
    training = count_guesses(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1]))
    table = with_pseudo_groups(replace(seen, guess_counts=training))
    assert table is not None and (table.aligned[NAME] == (guess == y)).all()
    assert summary(table)["aligned"] == 1 and summary(table)["conflicting"] == 0


def test_without_training_guesses_nothing_is_said() -> None:
    """As in a run that did not keep them."""
    assert with_pseudo_groups(replace(make(Y, Y, PREDICTION, attributes=0), guess=np.array(GUESS))) is None


def test_a_known_attribute_needs_no_guess() -> None:
    assert with_pseudo_groups(with_guess(make(Y, Y, PREDICTION), np.array(GUESS))) is None
    assert with_pseudo_groups(make(Y, Y, PREDICTION, attributes=0)) is None


def accuracies(aligned: float, conflicting: float) -> GroupAccuracies:
    found = GroupAccuracies.of(measure(table(aligned, conflicting)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("aligned", "conflicting", "effect"),
    [
        (1.0, 0.8, "better"),
        (1.0, 0.55, "no clear difference"),  # 3.8 points on 320 images can be chance
        (0.5, 0.2, "worse"),
    ],
)
def test_the_effect_of_training(aligned: float, conflicting: float, effect: str) -> None:
    assert effect_of_training(accuracies(1.0, 0.5), accuracies(aligned, conflicting), 320) == effect


def test_a_gain_where_the_attribute_goes_with_the_class_is_one_elsewhere() -> None:
    assert effect_of_training(accuracies(0.1, 0.5), accuracies(1.0, 0.5), 320) == "better elsewhere"


def test_a_model_reads_an_attribute_that_more_than_halves_its_accuracy() -> None:
    assert accuracies(1.0, 0.45).reads_attribute and not accuracies(1.0, 0.5).reads_attribute
    assert GroupAccuracies.of(measure(table(1.0, 0.5, attributes=()))) is None


def test_an_attribute_explains_what_is_lost_where_it_does_not_go_with_the_class() -> None:
    validation = Measured(1.0, 0.99, 1.0, 1000)
    found = explained_by_attribute(validation, table(1.0, 0.5))
    assert found is not None and found.attribute == "hue"
    assert (found.aligned.value, found.aligned.n) == (1.0, 80) and found.conflicting.n == 240
    assert explained_by_attribute(validation, table(0.5, 0.5)) is None  # as much is lost where it does


def test_gains_over_guessed_groups_are_those_of_the_groups() -> None:
    first, second = table(1.0, 0.2), table(1.0, 0.8)
    counts = np.eye(4, dtype=int)
    hidden = [replace(t, bias={}, aligned={}, guess=t.bias["hue"], guess_counts=counts) for t in (first, second)]
    assert guessed_gains(hidden[0], {"flac": hidden[1]}) == {"flac": compare(first, second)["unbiased"]}
    assert guessed_gains(first, {"flac": hidden[1]}) == {}  # the attribute is known: no guess stands in


def test_small_groups_make_a_measure_coarse() -> None:
    whole = table(1.0, 0.5)
    assert effective_size(whole) == pytest.approx(len(whole))
    keep = (whole.y != 0) | (whole.index % PER_GROUP < 2)  # four groups of 2, twelve of 20
    columns = {name: getattr(whole, name)[keep] for name in ("index", "y", "prediction", "score", "features")}
    small = replace(
        whole, **columns, bias={"hue": whole.bias["hue"][keep]}, aligned={"hue": whole.aligned["hue"][keep]}
    )
    assert effective_size(small) == pytest.approx(16**2 / (4 / 2 + 12 / 20))


def test_margin_is_a_point_at_least() -> None:
    assert margin(0.5, 0.5, 1e9) == 0.01
    assert margin(0.5, 0.5, 200) == pytest.approx(2 * (0.5 / 200) ** 0.5)


def test_following_less_is_told_by_mcnemar() -> None:
    y = np.arange(400) % 2
    guess = np.where(np.arange(400) < 80, 1 - y, y)

    def named(prediction: np.ndarray) -> Predictions:
        return Predictions(np.arange(400), y, prediction, np.ones(400), np.ones((400, 1)), {}, {})

    other = guess.copy()
    other[:5] = y[:5]
    assert not follows_less(named(guess), named(other), guess)  # 5 to 0: p = 2 / 2^5
    other[5] = y[5]
    assert follows_less(named(guess), named(other), guess)  # 6 to 0: p = 2 / 2^6
    assert not follows_less(named(other), named(guess), guess)


def test_usual_values_by_hand() -> None:
    assert usual_values(np.array([[90, 10], [60, 40]])).tolist() == [0, 1]  # the second has 1 more often than others
