"""Curves of a training as SVG, drawn here so that a page shows them without a script."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from fairflac.metrics.scores import ACCURACIES
from fairflac.runs.directory import scalars

WIDTH, HEIGHT = 360, 150  # of the whole drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 48, 10, 10, 24
FEW = 60  # epochs; each of so few is worth a dot with its number
SHARES = tuple(f"validation/{name}" for name in ACCURACIES)
FIRST = ("loss", "validation/unbiased", "validation/conflicting", "validation/accuracy")  # what one looks at first
FOLDED = ("lr", "validation/n", "seconds")
TITLES = {"loss": "training loss", "lr": "learning rate"}


@dataclass(frozen=True)
class Curve:
    """One number over the epochs."""

    name: str
    by_epoch: dict[int, float]

    @property
    def epochs(self) -> list[int]:
        return list(self.by_epoch)

    @property
    def values(self) -> list[float]:
        return list(self.by_epoch.values())

    @property
    def title(self) -> str:
        """`validation/unbiased:hue` → `validation: unbiased, hue`."""
        first, *others = self.name.replace("_", " ").split("/")
        return f"{first}: {', '.join(others)}" if others else TITLES.get(first, first)

    @property
    def share(self) -> bool:
        """An accuracy, which is read against all or nothing."""
        return self.name.startswith(SHARES)

    @property
    def main(self) -> bool:
        """Worth a look while training runs: the loss, accuracies, and what the method says of itself."""
        return self.share or not self.name.startswith(("validation/", *FOLDED))

    @property
    def says(self) -> str:
        """For those who do not see it."""
        begin, end = self.values[0], self.values[-1]
        epochs = self.epochs
        return f"{self.title}: {number(begin)} after epoch {epochs[0]}, {number(end)} after epoch {epochs[-1]}"


def curves(history: Sequence[dict[str, Any]]) -> list[Curve]:
    """Every number that the epochs have, the telling ones first."""
    found: dict[str, Curve] = {}
    for entry in history:
        for name, value in scalars(entry):
            found.setdefault(name, Curve(name, {})).by_epoch[int(entry["epoch"])] = value
    return sorted(found.values(), key=lambda one: FIRST.index(one.name) if one.name in FIRST else len(FIRST))


def drawing(curve: Curve, epochs: int) -> Markup:
    """An axis of all epochs that are planned, so that one sees how much is still to come."""
    low, high = (0.0, 1.0) if curve.share else _span(curve.values)
    last = max(epochs, curve.epochs[-1], 2)

    def x(epoch: float) -> float:
        return LEFT + (epoch - 1) / (last - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    places = [(x(epoch), y(value)) for epoch, value in zip(curve.epochs, curve.values, strict=True)]
    dots = list(zip(places, curve.epochs, curve.values, strict=True))
    parts = [_line(low, high, y), _ticks(last, x), _path(places)]
    parts += [_dot(*dot) for dot in (dots if last <= FEW else dots[-1:])]
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(curve.says)}">{"".join(parts)}</svg>'
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    low = min(low, 0.0) if low > -high else low
    return low, high if high > low else low + 1.0


def _line(low: float, high: float, y: Any) -> str:
    lines = []
    for value in (low, (low + high) / 2, high):
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{_short(value)}</text>')
    return "".join(lines)


def number(value: float) -> str:
    """With what a reader can compare: 29,370 and not 2.937e+04."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _short(value: float) -> str:
    """In the few letters that there is room for: 99.6 is 100, and not 1e+02."""
    return f"{value:.0f}" if 10 <= abs(value) < 1e5 else f"{value:.2g}"


def _ticks(last: int, x: Any) -> str:
    ends = ((1, "start", "epoch 1"), (last, "end", str(last)))
    return "".join(
        f'<text x="{x(epoch):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{words}</text>'
        for epoch, anchor, words in ends
    )


def _path(places: Sequence[tuple[float, float]]) -> str:
    """Every step as one straight line; a single epoch has none."""
    if len(places) < 2:
        return ""
    steps = "".join(f"L{b[0]:.1f} {b[1]:.1f}" for _, b in pairwise(places))
    return f'<path class="curve" d="M{places[0][0]:.1f} {places[0][1]:.1f}{steps}"/>'


def _dot(place: tuple[float, float], epoch: int, value: float) -> str:
    title = f"<title>epoch {epoch}: {number(value)}</title>"
    return f'<circle class="curve" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="2.5">{title}</circle>'
