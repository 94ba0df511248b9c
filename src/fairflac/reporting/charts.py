"""Bars that the page draws itself, as text and boxes: they fit any screen, any theme, and can be read aloud."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairflac.metrics import Measured
from fairflac.reporting.results import ClassLine

MOST_CLASSES = 20  # that a reader takes in at a glance


@dataclass(frozen=True)
class BarGroup:
    """Bars that belong together."""

    label: str
    bars: dict[str, Measured]  # by what each stands for
    note: str = ""
    n: int | None = None  # images behind each bar, where all are of the same


@dataclass(frozen=True)
class BarChart:
    series: list[str]  # what bars stand for, which decides on their colours
    groups: list[BarGroup]
    left_out: int = 0  # groups that would be too many


def shortcut_chart(
    numbers: Mapping[str, Mapping[str, Measured]], shortcut: str, notes: Mapping[str, str]
) -> BarChart | None:
    """Of each model: how often it is right where the shortcut goes with the class, and where it misleads."""
    series = {"aligned": f"{shortcut} goes with the class", "conflicting": f"{shortcut} misleads"}
    groups = [
        BarGroup(model, {words: found[name] for name, words in series.items()}, notes.get(model, ""))
        for model, found in numbers.items()
        if found.keys() >= series.keys()
    ]
    return BarChart(list(series.values()), groups) if groups else None


def class_chart(lines: Sequence[ClassLine]) -> BarChart:
    """Accuracy of each class under each model; of many classes those where models differ most."""
    shown = list(lines)
    if len(shown) > MOST_CLASSES:
        chosen = sorted(range(len(shown)), key=lambda place: (-_spread(shown[place]), place))[:MOST_CLASSES]
        shown = [shown[place] for place in sorted(chosen)]
    groups = [BarGroup(line.label, line.accuracy, n=line.n) for line in shown]
    return BarChart(list(lines[0].accuracy), groups, len(lines) - len(shown))


def _spread(line: ClassLine) -> float:
    values = [one.value for one in line.accuracy.values()]
    return max(values) - min(values) if len(values) > 1 else -values[0]
