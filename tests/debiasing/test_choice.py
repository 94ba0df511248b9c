"""Which model is kept, on tables made by hand."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.debiasing.choice import ModelChoice, SeedResult, balanced_accuracy, choose, choose_over_seeds
from fairflac.metrics.evidence import FEWEST, follows_less
from fairflac.metrics.predictions import Predictions

N = 400


def table(prediction: np.ndarray, y: np.ndarray) -> Predictions:
    return Predictions(np.arange(len(y)), y, prediction, np.ones(len(y)), np.zeros((len(y), 1)), {}, {})


def planted(share: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(N) % 2
    guess = np.where(np.random.default_rng(0).random(N) < share, y, 1 - y)
    return y, guess


def test_a_model_that_no_longer_follows_the_guess_is_kept() -> None:
    y, guess = planted()
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "flac-b" and choice.verdict == "signs of a shortcut"  # of two classes
    assert choice.gains["flac-b"].difference == 0.5  # two of four groups
    assert "signs of a shortcut" in " ".join(choice.reasons)


def test_no_gain_means_vanilla() -> None:
    y, guess = planted()
    same = choose({"vanilla": table(guess, y), "flac-b": table(guess, y)}, guess, pairs=100)
    assert same.kept == "vanilla" and same.verdict == "signs of a shortcut" and "no clear gain" in same.reasons[0]
    worse = choose({"vanilla": table(guess, y), "flac-b": table(1 - y, y)}, guess, pairs=100)
    assert worse.kept == "vanilla"


def test_no_evidence_means_vanilla_whatever_the_other_scores() -> None:
    y, guess = planted()
    rng = np.random.default_rng(1)
    tired = np.where(rng.random(N) < 0.9, y, 1 - y)  # wrong now and then, wherever the guess stands
    choice = choose({"vanilla": table(tired, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "vanilla" and choice.verdict == "no evidence"
    assert "no evidence of a shortcut" in choice.reasons[0]


def test_an_empty_s_gives_flac_nothing_to_learn_from() -> None:
    y, guess = planted()
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=0.1)
    assert choice.kept == "vanilla" and "pairs of images" in choice.reasons[0]
    assert choice.verdict == "signs of a shortcut"  # which is not denied


def test_a_handful_of_images_decides_nothing() -> None:
    y = np.arange(N) % 2
    guess = y.copy()
    guess[:5] = 1 - guess[:5]
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "vanilla" and choice.verdict == "cannot tell" and "Only 5 images" in choice.reasons[1]


def test_labels_in_the_tables_change_nothing() -> None:
    y, guess = planted()
    tables = {"vanilla": table(guess, y), "flac-b": table(y, y)}
    labelled = {
        name: replace(one, bias={"age": 1 - guess}, aligned={"age": y == guess}, min_cell={"age": 50})
        for name, one in tables.items()
    }
    assert choose(tables, guess, pairs=100) == choose(labelled, guess, pairs=100)


def test_values_of_a_taught_attribute_need_not_be_classes() -> None:
    y, guess = planted()
    value = np.where(guess == 0, 3, 1)  # value 3 goes with class 0
    choice = choose({"vanilla": table(guess, y), "flac": table(y, y)}, value, pairs=100, guess_is_class=False)
    assert choice.kept == "flac" and choice.lean is not None and choice.lean.follows.value == 1


def test_as_good_and_freer_of_the_guess_is_better() -> None:
    """Each model is wrong on as many images in every class; one of them where the guess says so."""
    y, guess = planted()
    follows, free = y.copy(), y.copy()
    for label in (0, 1):
        wrong, right = (np.flatnonzero((y == label) & ((guess != y) == against)) for against in (True, False))
        follows[wrong[:12]] = 1 - label
        free[right[: 12 * len(right) // len(wrong)]] = 1 - label  # as large a share of its group
    choice = choose({"vanilla": table(follows, y), "flac-b": table(free, y)}, guess, pairs=100)
    assert abs(choice.gains["flac-b"].difference) < 0.02
    assert choice.kept == "flac-b" and "where the guess contradicts the class" in choice.reasons[0]
    worse = free.copy()
    worse[guess == y] = 1 - y[guess == y]
    assert choose({"vanilla": table(follows, y), "flac-b": table(worse, y)}, guess, pairs=100).kept == "vanilla"


def test_a_guess_by_chance_tells_nothing() -> None:
    y, guess = planted(0.5)
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "vanilla" and choice.verdict == "cannot tell"
    assert "no better than chance" in choice.reasons[-2]


def test_a_class_that_loses_is_named_and_vetoes_what_follows_less() -> None:
    """The other model no longer follows the guess in two classes, and is wrong on half of the third for it."""
    y, place = np.arange(600) % 3, np.arange(600) // 3
    guess = np.where(place % 5 == 0, (y + 1) % 3, y)
    half = place % 2 == 0
    follows = np.where((guess != y) & half & (y < 2), guess, y)
    free = np.where((y == 2) & half, 1, y)
    tables = {"vanilla": table(follows, y), "flac-b": table(free, y)}
    choice = choose(tables, guess, pairs=100, classes=("ant", "bee", "cow"))
    assert follows_less(*tables.values(), guess) and choice.gains["flac-b"].p > 0.05
    assert choice.kept == "vanilla" and [one.label for one in choice.worse["flac-b"]] == [2]
    assert "flac-b names clearly worse than vanilla" in choice.reasons[1] and ": “cow” from" in choice.reasons[1]


def test_of_several_models_the_one_with_the_best_worst_group_is_kept() -> None:
    """Both are clearly better; one leaves a group behind."""
    y, guess = planted()
    against = np.flatnonzero((guess != y) & (y == 0))
    even, uneven = y.copy(), y.copy()
    even[np.flatnonzero(guess == y)[::3]] ^= 1  # a third of the others
    uneven[against[: len(against) // 2]] ^= 1
    choice = choose({"vanilla": table(guess, y), "flac": table(even, y), "balanced": table(uneven, y)}, guess, 100)
    assert choice.gains["balanced"].difference > choice.gains["flac"].difference > 0
    assert choice.kept == "flac" and "Its worst group is no worse than that of balanced" in choice.reasons[0]


def test_unsure_guesses_do_not_count() -> None:
    """Half of what is guessed to contradict its class does not: vanilla is right there, for that is the class."""
    y, guess = planted()
    wrong = np.flatnonzero(guess != y)[::2]
    sure = np.ones(N, dtype=bool)
    sure[wrong] = False
    vanilla = guess.copy()
    vanilla[wrong] = y[wrong]
    tables = {"vanilla": table(vanilla, y), "flac": table(y, y)}
    all_count, only_sure = (
        choose(tables, guess, 100, guess_is_class=False, sure=one) for one in (np.ones(N, dtype=bool), sure)
    )
    assert only_sure.lean is not None and all_count.lean is not None
    assert only_sure.lean.follows.value == 1.0 and all_count.lean.follows.value < 0.6
    assert only_sure.verdict == "leans on a shortcut" and "whose guess is sure" in only_sure.reasons[0]


def test_where_hardly_a_sure_guess_contradicts_all_guesses_count() -> None:
    y, guess = planted()
    choice = choose({"vanilla": table(guess, y), "flac": table(y, y)}, guess, 100, sure=guess == y)
    assert choice.kept == "flac" and choice.lean is not None


def test_of_groups_that_were_found_few_images_may_decide() -> None:
    """Discovery has seen more of them; a bias model's guess has nothing else to go by."""
    y = np.arange(N) % 2
    guess = y.copy()
    guess[:8] = 1 - guess[:8]
    tables = {"vanilla": table(guess, y), "flac": table(y, y)}
    every = np.ones(N, dtype=bool)
    found = choose(tables, guess, 100, guess_is_class=False, sure=every)
    assert found.kept == "flac" and found.verdict == "signs of a shortcut"
    assert choose(tables, guess, 100).kept == "vanilla"
    assert choose(tables, guess, 100, sure=every, believed=False).kept == "flac"  # for that is a clear gain
    alike = {**tables, "flac": tables["vanilla"]}
    assert choose(alike, guess, 100, sure=every, believed=False).kept == "vanilla"


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_a_handful_of_images_does_not_take_back_what_was_found(data: st.DataObject) -> None:
    """Whichever of them the models are right on, as long as the first is not wrong where vanilla is right: it is kept.
    What it loses where the guess is right is no reason, up to what it could gain."""
    few, lost = data.draw(st.integers(0, FEWEST - 1)), data.draw(st.integers(0, 160))
    vanilla, flac, balanced = (
        np.array(data.draw(st.lists(st.booleans(), min_size=few, max_size=few)), dtype=bool) for _ in "vfb"
    )
    flac |= vanilla
    y = np.arange(N) % 2
    guess = y.copy()
    guess[:few] = 1 - guess[:few]
    tables = {}
    for name, right in {"vanilla": vanilla, "flac": flac, "balanced": balanced}.items():
        prediction = y.copy()
        prediction[:few] = np.where(right, y[:few], guess[:few])
        prediction[N - lost : N] = 1 - y[N - lost : N] if name == "flac" else y[N - lost : N]
        tables[name] = table(prediction, y)
    every = np.ones(N, dtype=bool)
    aligned = np.mean([(tables["flac"].prediction == y)[few:][y[few:] == label].mean() for label in (0, 1)])
    found = choose(tables, guess, 100, guess_is_class=False, sure=every)
    assert (found.kept == "flac") == (aligned > (1 + 1 / 2) / 2)
    said = f"{f'Only {few}' if few else 'None'} of those looked at here contradict it"
    assert found.kept != "flac" or said in found.reasons[0]


def test_where_vanilla_leans_the_better_number_is_enough() -> None:
    """It follows the guess on 11 of 12 images that contradict their class; the other model on two less."""
    y, guess = np.arange(N) % 2, np.arange(N) % 2
    against = np.flatnonzero(y == 0)[:6].tolist() + np.flatnonzero(y == 1)[:6].tolist()
    guess[against] = 1 - y[against]
    vanilla, better = guess.copy(), guess.copy()
    vanilla[against[:1]] = y[against[:1]]
    better[against[:2] + against[6:7]] = y[against[:2] + against[6:7]]
    every = np.ones(N, dtype=bool)
    choice = choose({"vanilla": table(vanilla, y), "flac": table(better, y)}, guess, 100, sure=every)
    assert not choice.gains["flac"].clear and choice.verdict == "leans on a shortcut"
    assert choice.kept == "flac" and "vanilla leans on the shortcut" in choice.reasons[0]
    turned = choose({"vanilla": table(better, y), "flac": table(vanilla, y)}, guess, 100, sure=every)
    assert turned.kept == "vanilla"


def test_too_few_images_do_not_take_back_what_was_found() -> None:
    """12 images contradict their class, and vanilla is wrong on 3: chance may explain it. Discovery saw more."""
    y, guess = np.arange(N) % 2, np.arange(N) % 2
    against = np.flatnonzero(y == 0)[:6].tolist() + np.flatnonzero(y == 1)[:6].tolist()
    guess[against] = 1 - y[against]
    vanilla, better = y.copy(), y.copy()
    wrong = [*against[:2], against[6]]
    vanilla[wrong] = 1 - y[wrong]
    better[wrong[:1]] = 1 - y[wrong[:1]]
    every, tables = np.ones(N, dtype=bool), {"vanilla": table(vanilla, y), "flac": table(better, y)}
    found = choose(tables, guess, 100, sure=every)
    assert not found.gains["flac"].clear and found.kept == "flac" and "found among all images" in found.reasons[0]
    assert choose({**tables, "flac": tables["vanilla"]}, guess, 100, sure=every).kept == "vanilla"
    assert choose(tables, guess, 100).kept == "vanilla"  # a bias model has found nothing
    given = choose(tables, guess, 100, sure=every, believed=False)
    assert given.kept == "vanilla" and given.verdict == "cannot tell"  # nor does a person's word make a gain clear
    right = choose({"vanilla": table(guess, y), "flac": table(y, y)}, guess, 100, sure=every, believed=False)
    assert right.kept == "flac"  # a clear one is enough, however few they are


def test_of_groups_that_were_found_a_clear_gain_is_enough() -> None:
    """Vanilla names the guess for every fourth image that contradicts its class, and is wrong on a tenth of all others:
    too little to say that it leans. A model that is right everywhere is better all the same."""
    y, guess = planted()
    rng = np.random.default_rng(1)
    wrong = np.where(guess != y, rng.random(N) < 0.25, rng.random(N) < 0.1)
    tables = {"vanilla": table(np.where(wrong, 1 - y, y), y), "flac": table(y, y)}
    found = choose(tables, guess, 100, sure=np.ones(N, dtype=bool))
    assert found.kept == "flac" and found.verdict == "signs of a shortcut"
    assert "These differences alone are too small" in " ".join(found.reasons)
    assert choose(tables, guess, 100).kept == "vanilla"


def seed_result(seed: int, kept: str, **scores: float) -> SeedResult:
    return SeedResult(seed, ModelChoice(kept, "no evidence", [f"{kept} is kept."], None, {}, {}), scores, scores)


def test_most_seeds_decide_and_the_median_is_kept() -> None:
    results = [
        seed_result(0, "flac", vanilla=0.5, flac=0.9),
        seed_result(1, "vanilla", vanilla=0.6, flac=0.6),
        seed_result(2, "flac", vanilla=0.4, flac=0.7),
    ]
    found = choose_over_seeds(results)
    assert (found.kept, found.seed, found.votes) == ("flac", 2, {"flac": 2, "vanilla": 1})
    assert "as 2 of 3 seeds would by themselves; 1 would keep vanilla" in found.reasons[0]
    assert "vanilla 50.0 ± 10.0 % (40.0 to 60.0), flac 73.3 ± 15.3 % (60.0 to 90.0)" in found.reasons[1]
    assert found.reasons[2] == "Seed 2 alone: flac is kept."


def test_of_equals_the_better_mean_and_of_two_in_the_middle_the_lower() -> None:
    results = [seed_result(0, "flac", vanilla=0.5, flac=0.4), seed_result(1, "vanilla", vanilla=0.6, flac=0.3)]
    found = choose_over_seeds(results)
    assert (found.kept, found.seed) == ("vanilla", 0)


def test_the_classes_count_alike() -> None:
    y = np.array([0, 0, 0, 1])
    assert balanced_accuracy(table(np.zeros(4, dtype=int), y)) == 0.5
