"""The page's first words: does a model lean on a shortcut, did training against it help, and what to do now.

Every decision is one of `fairflac.metrics`; here it is put into words, with the numbers of the page's own tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fairflac.metrics import Measured
from fairflac.metrics.comparison import Difference, clearly_worse, compare
from fairflac.metrics.evidence import (
    Effect,
    GroupAccuracies,
    Guessed,
    Word,
    aligned_class,
    beside_guess,
    effect_of_training,
    effective_size,
    guessed_gains,
    word,
)
from fairflac.metrics.groups import SMALL, weakest
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import Names, has_groups, known_attribute
from fairflac.reporting.results import Model, strongest_vanilla


class ReportVerdict(NamedTuple):
    lean: Word  # of the ordinary model; without one, the strongest of all
    answer: str  # does it lean on a shortcut?
    effect: list[str]  # did training against it help, and where does it still fail?
    advice: str
    notes: dict[str, str]  # of each model, in a few words


ORDINARY = "the ordinary model"
UNKNOWN = (
    "No label tells which test images follow a shortcut, so whether a model leans on one cannot be said.",
    "Ask discovery (fairflac discover) which shortcut the images offer, and audit the model (fairflac audit).",
)
NO_VANILLA = (
    "There is no vanilla model, trained in the ordinary way on the same data, among these runs: whether the training "
    "helped cannot be said."
)
LEANS: tuple[Word, ...] = ("leans on a shortcut", "signs of a shortcut")


def report_verdict(
    models: Sequence[Model],
    numbers: Mapping[str, Mapping[str, Measured]],
    tables: Mapping[str, Predictions],
    names: Names,
    guesses: "GuessedModels | None",
) -> ReportVerdict:
    """From labels of the attribute, else from guesses, else none."""
    first = next(iter(tables.values()))
    if shortcut := known_attribute(first):
        said = verdict(models, numbers, tables, names, shortcut, effective_size(first))
    else:
        said = guessed_verdict(guesses, tables, names) if guesses else None
    return said or ReportVerdict("cannot tell", UNKNOWN[0], [], UNKNOWN[1], {})


def verdict(
    models: Sequence[Model],
    numbers: Mapping[str, Mapping[str, Measured]],
    tables: Mapping[str, Predictions],
    names: Names,
    shortcut: str,
    size: float,
) -> ReportVerdict | None:
    """From labels of the attribute; None where they do not reach.

    `numbers` are by model and metric, `tables` those of models tested on the same images, `shortcut` is the
    attribute's name, `size` the number of test images behind an unbiased accuracy.
    """
    known = {model.name: scores for model in models if (scores := GroupAccuracies.of(numbers[model.name]))}
    if not known:
        return None
    words = {name: _lean(scores, shortcut) for name, scores in known.items()}
    base = strongest_vanilla(models, {name: scores.unbiased.value for name, scores in known.items()})
    if base is None:
        most = _most([scores.lean for scores in known.values()])
        return ReportVerdict(most, _answer(_name(list(known)), most, words), [NO_VANILLA], _advice(None, {}), words)
    plain = known[base.name]
    effects = {name: effect_of_training(plain, scores, size) for name, scores in known.items() if name != base.name}
    before = plain.conflicting.value
    gains = [f"{_from_to(before, known[name].conflicting.value)} with {name}" for name in _of(effects, "better")]
    effect = [f"Training against it helps: where the {shortcut} misleads, {_list(gains)}."] if gains else []
    effect += _others(effects, base.name, f"where the {shortcut} misleads")
    better = _of(effects, "better")
    effect += _remainder([name for name in better if known[name].lean in LEANS], better, tables, names)
    effect += _losses(effects, tables, base.name, names)
    notes = {base.name: words[base.name]} | {
        name: _note(effects[name], words[name], base.name) for name in known if name != base.name
    }
    answer = _answer(f"{ORDINARY} ({base.name})", plain.lean, {base.name: words[base.name]})
    return ReportVerdict(plain.lean, answer, effect, _advice(plain.lean, effects), notes)


def _lean(scores: GroupAccuracies, shortcut: str) -> str:
    if scores.lean == "leans on a shortcut":
        return f"{'reads' if scores.reads_attribute else 'leans on'} the {shortcut}"
    return {
        "signs of a shortcut": f"shows signs of leaning on the {shortcut}",
        "no evidence": f"is not clearly worse where the {shortcut} misleads",
    }.get(scores.lean, f"was tested on too few images to tell whether it leans on the {shortcut}")


def _most(found: Sequence[Word]) -> Word:
    order: list[Word] = ["leans on a shortcut", "signs of a shortcut", "cannot tell", "no evidence"]
    return min(found, key=order.index)


def _answer(who: str, lean: Word, words: Mapping[str, str]) -> str:
    start = {"leans on a shortcut": "Yes", "signs of a shortcut": "Perhaps", "no evidence": "No evidence"}
    said = list(words.values())
    if len(said) == 1:
        return f"{start.get(lean, 'Unclear')}: {who} {said[0]}."
    return f"{start.get(lean, 'Unclear')}: {'; '.join(f'{name} {what}' for name, what in words.items())}."


def _note(effect: Effect, lean: str, base: str) -> str:
    said = {
        "worse": f"worse than {base}",
        "no clear difference": f"no clear gain over {base}",
        "better elsewhere": f"gains, but not against the shortcut; {lean}",
        "better": f"better than {base}; {lean.replace('leans', 'still leans').replace('reads', 'still reads')}",
    }
    return said[effect]


def _others(effects: Mapping[str, Effect], base: str, where: str) -> list[str]:
    """Of models that training did not help."""
    sentences = []
    if alike := _of(effects, "no clear difference"):
        sentences.append(f"No clear help: {_list(alike)} {_verb(alike, 'is', 'are')} not clearly better than {base}.")
    if elsewhere := _of(effects, "better elsewhere"):
        sentences.append(
            f"No help against it: {_list(elsewhere)} {_verb(elsewhere, 'gains', 'gain')}, but not {where}."
        )
    if worse := _of(effects, "worse"):
        sentences.append(f"{_list(worse)} {_verb(worse, 'is', 'are')} worse than {base}.")
    return sentences


def _remainder(
    leaning: Sequence[str], better: Sequence[str], tables: Mapping[str, Predictions], names: Names
) -> list[str]:
    """What models that are better still get wrong."""
    sentences = [f"{_list(leaning)} {_verb(leaning, 'is', 'are')} not free of it."] if leaning else []
    weak: dict[str, list[str]] = {}
    failing = []
    for name in better:
        if name in tables and (found := weakest(tables[name])):
            value = names.of_value(found.attribute, found.value) if found.attribute else ""
            what = f"“{names.of_class(found.label)}”{value and f' with {value}'}"
            weak.setdefault(what, []).append(f"{100 * found.accuracy.value:.0f} % right with {name}")
            failing.append(name)
    if weak:
        parts = [f"{what} ({', '.join(shares)})" for what, shares in weak.items()]
        who = _verb(better, "It", "They") if failing == list(better) else _list(failing)
        sentences.append(f"{who} still {_verb(failing, 'fails', 'fail')} most on {_list(parts)}.")
    return sentences


def _losses(effects: Mapping[str, Effect], tables: Mapping[str, Predictions], base: str, names: Names) -> list[str]:
    """What models that are not called worse lose all the same, over all images or in classes."""
    sentences = []
    for name, effect in effects.items():
        if effect == "worse" or not {name, base} <= tables.keys():
            continue
        before, after = tables[base].without_labels(), tables[name].without_labels()
        overall, classes = compare(before, after)["accuracy"], clearly_worse(before, after)
        where = _list([f"“{names.of_class(one.label)}”" for one in classes])
        if overall.clear and overall.difference < 0:
            share = _from_to(overall.first, overall.second)
            most = f", most clearly on {where}" if where else ""
            sentences.append(f"Over all test images {name} is worse than {base}: {share}{most}.")
        elif where:
            sentences.append(f"{name} is clearly worse than {base} on {where}.")
    return sentences[:MOST]


def _advice(lean: Word | None, effects: Mapping[str, Effect]) -> str:
    better = _of(effects, "better")
    if lean is None:
        return "Train a vanilla model of the same data too (fairflac train … vanilla) and report both."
    if better:
        use = " or ".join(better) if len(better) <= MOST else "a model that helps"
        return f"Use {use}, not the ordinary model, and look first at what it still gets wrong."
    if lean == "cannot tell":
        return f"Test on more images that contradict the shortcut, {SMALL} at least."
    if lean == "no evidence":
        return "Nothing here speaks for training against it. For other shortcuts, audit the model (fairflac audit)."
    if effects:
        return "Do not rely on these models where the shortcut may not hold: try another method or bias model."
    return "Train against it: fairflac debias for a folder of images, fairflac train … flac-b for a dataset."


@dataclass(frozen=True)
class GuessedModels:
    """Models beside guesses that stand in for an attribute that nobody has labelled."""

    guess: np.ndarray  # (N,) of each test image
    names: Names  # of the model that guesses; one that was trained without them has none of the values
    against: np.ndarray  # (N,) the guess speaks for another class
    grouped: bool  # by groups that were found or given; else by a bias model
    of_classes: bool  # values are classes
    beside: dict[str, Guessed]  # by model
    gains: dict[str, Difference]  # of each model over the strongest vanilla one, all groups counting alike
    base: str | None

    def lean(self, name: str) -> Word:
        found = self.beside[name]
        return word([found.strength], blind=found.blind)


def guessed_models(models: Sequence[Model], tables: Mapping[str, Predictions]) -> GuessedModels | None:
    """Of models that were tested on the same images; None if no bias model guessed anything there."""
    asked = next((model for model in models if model.name in tables and tables[model.name].guess is not None), None)
    if asked is None:
        return None
    guess, counts = tables[asked.name].guess, tables[asked.name].guess_counts
    assert guess is not None
    grouped = has_groups(asked.run.config)
    of_classes = not grouped and (asked.run.config.get("bias_model") or {}).get("target", "class") == "class"
    if counts is None and not of_classes:
        return None  # a run from before training guesses were counted: which class a value speaks for is not known
    speaks_for = None if of_classes or counts is None else aligned_class(counts)
    same = {name: replace(table, guess=guess, guess_counts=counts) for name, table in tables.items()}
    first = next(iter(same.values()))
    classes = len(Names.of(asked.run.result).classes) or len(np.unique(first.y))
    right = {name: float(np.mean(table.prediction == table.y)) for name, table in same.items()}
    base = strongest_vanilla(models, right)
    others = {model.name: same[model.name] for model in models if model.method != "vanilla" and model.name in same}
    return GuessedModels(
        guess,
        Names.of(asked.run.result),
        (guess if speaks_for is None else speaks_for[guess]) != first.y,
        grouped,
        of_classes,
        {name: beside_guess(table, speaks_for, classes=classes, found=grouped) for name, table in same.items()},
        guessed_gains(same[base.name], others) if base else {},
        base.name if base else None,
    )


def guessed_verdict(found: GuessedModels, tables: Mapping[str, Predictions], names: Names) -> ReportVerdict:
    """From guesses: a hint, no proof."""
    words = {name: _guessed_lean(one, found.lean(name)) for name, one in found.beside.items()}
    if found.base is None:
        most = _most([found.lean(name) for name in words])
        return ReportVerdict(most, _answer(_name(list(words)), most, words), [NO_VANILLA], _advice(None, {}), words)
    effects: dict[str, Effect] = {
        name: "no clear difference" if not gain.clear else "better" if gain.difference > 0 else "worse"
        for name, gain in found.gains.items()
    }
    gains = [
        f"{_from_to(found.gains[name].first, found.gains[name].second)} with {name}" for name in _of(effects, "better")
    ]
    effect = (
        [f"Training against it helps: with all guessed groups of each class counting alike, {_list(gains)}."]
        if gains
        else []
    )
    effect += _others(effects, found.base, "where the guess misleads")
    effect += _remainder([], _of(effects, "better"), tables, names)
    effect += _losses(effects, tables, found.base, names)
    lean = found.lean(found.base)
    notes = {name: _note(effects[name], words[name], found.base) if name in effects else words[name] for name in words}
    answer = _answer(f"{ORDINARY} ({found.base})", lean, {found.base: words[found.base]})
    return ReportVerdict(lean, answer, effect, _advice(lean, effects), notes)


def _guessed_lean(found: Guessed, lean: Word) -> str:
    if found.agree is None or found.disagree is None:
        which = "never" if found.disagree is None else "always"
        return f"was tested on images whose guess {which} contradicts the class, which show nothing of a shortcut"
    return {
        "leans on a shortcut": "leans on a shortcut",
        "signs of a shortcut": "shows signs of leaning on a shortcut, or finds the same images hard",
        "no evidence": "does not clearly follow a shortcut",
    }.get(lean, "was tested on too few images that contradict a shortcut to tell whether it leans on one")


def _of(effects: Mapping[str, Effect], wanted: Effect) -> list[str]:
    return [name for name, effect in effects.items() if effect == wanted]


def _from_to(before: float, after: float) -> str:
    """In whole percent, unless they would look alike."""
    first, second = (f"{100 * value:.0f}" for value in (before, after))
    if first == second:
        first, second = (f"{100 * value:.1f}" for value in (before, after))
    return f"{first} → {second} %"


def _name(names: Sequence[str]) -> str:
    return f"the {names[0]} model"


def _verb(names: Sequence[str], one: str, several: str) -> str:
    return one if len(names) == 1 else several


MOST = 4  # things that a sentence names; the tables have all


def _list(parts: Sequence[str]) -> str:
    shown = parts if len(parts) <= MOST else [*parts[: MOST - 1], f"{len(parts) - MOST + 1} others"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
