"""Do predictions that were made elsewhere treat groups alike? What was measured, and the answer in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from fairflac.auditing.frame import Bar, Contrast, preference, whole
from fairflac.auditing.prediction_file import PredictionFile
from fairflac.metrics import Measured, MetricSummary, score
from fairflac.metrics.comparison import CLEAR, Difference, compare
from fairflac.metrics.groups import SMALL, class_accuracy
from fairflac.metrics.independence import independence_p
from fairflac.metrics.intervals import difference, share_interval
from fairflac.metrics.predictions import Predictions, count

MOST_BARS = 12  # that a picture shows: of more groups, those of one class
MOST_COMPARED = 500  # groups: the permutations of a paired test are held in memory
SUREST = 3  # mistakes of each model on the first screen
Word = Literal["depends", "no evidence", "cannot tell"]


class GroupAccuracy(NamedTuple):
    """One class with one value of the attribute."""

    y: int
    value: int
    accuracy: Measured

    @property
    def small(self) -> bool:
        return self.accuracy.n < SMALL


class Dependence(NamedTuple):
    """How often one model is right, by one attribute."""

    word: Word
    p: float  # of no dependence, as if this were the only attribute
    groups: list[GroupAccuracy]
    best: GroupAccuracy  # of the class where two groups of some size differ most
    worst: GroupAccuracy

    @property
    def gap(self) -> Measured:
        return difference(self.best.accuracy, self.worst.accuracy)


@dataclass(frozen=True)
class FairnessAudit:
    """Everything that was measured. By model, then by attribute."""

    file: PredictionFile
    dependence: Mapping[str, Mapping[str, Dependence]]
    summaries: Mapping[str, Mapping[str, MetricSummary]]  # groups by the number of their value

    @property
    def attributes(self) -> list[str]:
        return list(next(iter(self.dependence.values())))

    @property
    def models(self) -> list[str]:
        return list(self.dependence)

    def differences(self, model: str) -> dict[str, Difference]:
        """To the first model, row by row: `accuracy`, and by attribute, unless it makes too many groups."""
        first = self.models[0]
        found = {"accuracy": compare(*(self._bare(name) for name in (first, model)))["accuracy"]}
        for name, one in self.dependence[model].items():
            if len(one.groups) <= MOST_COMPARED:
                found[name] = compare(*(self.file.only(each, name) for each in (first, model)))["unbiased"]
        return found

    def _bare(self, model: str) -> Predictions:
        return self.file.tables[model].without_labels()


def audit_fairness(file: PredictionFile) -> FairnessAudit:
    dependence, summaries = {}, {}
    for model, table in file.tables.items():
        dependence[model] = {name: _dependence(file.only(model, name), name, len(table.bias)) for name in table.bias}
        summaries[model] = {
            name: score(table.y, table.prediction, sensitive_features={name: values})
            for name, values in table.bias.items()
        }
    return FairnessAudit(file, dependence, summaries)


def _dependence(table: Predictions, attribute: str, attributes: int) -> Dependence:
    """Of several attributes, one looks unequal by luck sooner: p has to be as many times smaller (Bonferroni)."""
    groups = group_accuracies(table, attribute)
    best, worst = _furthest_apart(groups)
    p = independence_p(table, attribute)
    large = [group.y for group in groups if not group.small]
    blind = len(large) == len({*large})  # no class has two groups of some size
    word: Word = "depends" if p * attributes < CLEAR else "cannot tell" if blind else "no evidence"
    return Dependence(word, p, groups, best, worst)


def group_accuracies(table: Predictions, attribute: str) -> list[GroupAccuracy]:
    counts, values = count(table, attribute), np.unique(table.bias[attribute])
    found = []
    for y, k in np.argwhere(counts.per_group > 0).tolist():
        n = int(counts.per_group[y, k])
        right = float(counts.right[y, k] / n)
        found.append(GroupAccuracy(y, int(values[k]), Measured(right, *share_interval(right, n), n)))
    return found


def _furthest_apart(groups: Sequence[GroupAccuracy]) -> tuple[GroupAccuracy, GroupAccuracy]:
    """Best and worst group of the class where they differ most; small groups count where there are no others."""

    def pair(of: Sequence[GroupAccuracy]) -> tuple[GroupAccuracy, GroupAccuracy]:
        by_class = [sorted((one for one in of if one.y == y), key=_value) for y in sorted({one.y for one in of})]
        widest = max(by_class, key=lambda several: (_value(several[-1]) - _value(several[0]), len(several)))
        return widest[-1], widest[0]

    large = [one for one in groups if not one.small]
    return pair(large if len(large) > len({one.y for one in large}) else groups)


def _value(group: GroupAccuracy) -> float:
    return group.accuracy.value


def main_attribute(found: FairnessAudit) -> str | None:
    """That a picture is about: the one with the smallest p of any model, of equals that with the largest gap."""

    def rank(name: str) -> tuple[float, float]:
        several = [one[name] for one in found.dependence.values()]
        return min(one.p for one in several), -max(one.gap.value for one in several)

    return min(found.attributes, key=rank, default=None)


def contrast(found: FairnessAudit) -> Contrast:
    attribute, names = main_attribute(found), found.file.names
    if attribute is None:
        bars = {
            model: [Bar(names.of_class(y), one) for y, one in class_accuracy(table).items()]
            for model, table in found.file.tables.items()
        }
        return Contrast("class", "How often the model is right, by class", bars)
    by_model = {model: one[attribute] for model, one in found.dependence.items()}
    chosen = _shown_groups(by_model)
    bars = {
        model: [
            Bar(
                group_name(found.file, attribute, group),
                group.accuracy,
                against=one.word == "depends" and _place(group) == _place(one.worst),
            )
            for group in one.groups
            if _place(group) in chosen
        ]
        for model, one in by_model.items()
    }
    shown = attribute.replace("_", " ")
    return Contrast("attribute", f"How often the model is right, by class and {shown}", bars, attribute)


def _shown_groups(by_model: Mapping[str, Dependence]) -> set[tuple[int, int]]:
    """All; or those of the class where they differ most; or of these the lowest and the highest."""
    first = max(by_model.values(), key=lambda one: one.gap.value)
    if len(first.groups) <= MOST_BARS:
        return {_place(group) for group in first.groups}
    ordered = sorted((group for group in first.groups if group.y == first.worst.y), key=_value)
    few = ordered if len(ordered) <= MOST_BARS else [*ordered[: MOST_BARS // 2], *ordered[-MOST_BARS // 2 :]]
    return {_place(group) for group in few} | {_place(first.best), _place(first.worst)}


def _place(group: GroupAccuracy) -> tuple[int, int]:
    return group.y, group.value


def group_name(file: PredictionFile, attribute: str, group: GroupAccuracy) -> str:
    return f"{file.names.of_class(group.y)}, {file.names.of_value(attribute, group.value)}"


def answer(found: FairnessAudit) -> list[str]:
    """The verdict, what shows it most plainly, and what to do."""
    attribute = main_attribute(found)
    if attribute is None:
        return [
            "Nothing can be said about groups.",
            "There is no column of an attribute, such as sex, camera or place: add one for what you suspect.",
        ]
    several = len(found.models) > 1
    sentences = [_verdicts(found), *(_numbers(found, model, attribute, several) for model in found.models)]
    for model in found.models[1:]:
        differences = found.differences(model)
        grouped = f"on all groups of class and {attribute.replace('_', ' ')}, counting alike"
        where, key = (grouped, attribute) if attribute in differences else ("on all rows", "accuracy")
        sentences.append(_fairer(found, model, attribute))
        sentences.append(preference(found.models[0], model, differences[key], where))
    return [*sentences, *([] if several else [_advice(found, attribute)])]


def _fairer(found: FairnessAudit, model: str, attribute: str) -> str:
    """Whether the largest difference inside a class is another than that of the first model."""
    first, second = (found.dependence[one][attribute].gap for one in (found.models[0], model))
    before, after = (f"{100 * gap.value:.0f}" for gap in (first, second))
    points = f"from {before} to {after} points"
    if second.high < first.low or first.high < second.low:
        return f"The largest difference inside a class {'falls' if second.value < first.value else 'grows'} {points}."
    if before == after:
        return f"The largest difference inside a class stays at {before} points."
    return f"The largest difference inside a class goes {points}, which chance may explain."


def _verdicts(found: FairnessAudit) -> str:
    """What is the same for all models is said once."""
    if len(found.models) == 1:
        said = _verdict(found, found.models[0], "it is")
        return said[0].upper() + said[1:]
    if len({tuple(one.word for one in by.values()) for by in found.dependence.values()}) == 1:
        return f"All of them: {_verdict(found, found.models[0], 'they are')}"
    return " ".join(f"{model}: {_verdict(found, model, 'it is')}" for model in found.models)


def _verdict(found: FairnessAudit, model: str, they_are: str) -> str:
    by_word: dict[Word, list[str]] = {"depends": [], "no evidence": [], "cannot tell": []}
    for name, one in found.dependence[model].items():
        by_word[one.word].append(f"the {name.replace('_', ' ')}")
    if on := by_word["depends"]:
        return f"how often {they_are} right depends on {_listed(on, 'and')}."
    if on := by_word["no evidence"]:
        return f"no evidence that how often {they_are} right depends on {_listed(on, 'or')}."
    return "too few rows to tell."


def _listed(names: list[str], joint: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {joint} {names[-1]}"


def _numbers(found: FairnessAudit, model: str, attribute: str, several: bool) -> str:
    one, names = found.dependence[model][attribute], found.file.names
    best, worst = (names.of_value(attribute, group.value) for group in (one.best, one.worst))
    who = f"{model} is" if several else "It is"
    if one.best is one.worst:
        return f"No class has rows of two values of the {attribute.replace('_', ' ')}."
    return (
        f"{who} right on {whole(one.best.accuracy)} of “{names.of_class(one.best.y)}” where the "
        f"{attribute.replace('_', ' ')} is {best}, and on {whole(one.worst.accuracy)} where it is {worst}."
    )


def _advice(found: FairnessAudit, attribute: str) -> str:
    one = found.dependence[found.models[0]][attribute]
    shown, worst = attribute.replace("_", " "), found.file.names.of_value(attribute, one.worst.value)
    return {
        "depends": f"Do not use it where that matters before you know why: look at its mistakes where the {shown} is "
        f"{worst}, add such data, or train it anew against the {shown} (fairflac debias with that attribute).",
        "no evidence": "So far nothing needs to be done; a small difference would need more rows to show.",
        "cannot tell": f"Collect {SMALL} rows or more of each group.",
    }[one.word]


def surest_and_wrong(found: FairnessAudit, model: str) -> list[int]:
    """Rows of the few mistakes that the model is surest of; none where that is not known."""
    table = found.file.tables[model]
    rows = np.flatnonzero(table.prediction != table.y) if found.file.scored else np.empty(0, dtype=int)
    surest: list[int] = rows[np.argsort(-table.score[rows], kind="stable")][:SUREST].tolist()
    return surest
