"""What the pages of an audit share: a picture of bars, tables of numbers, and one file that needs nothing else."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from fairflac.metrics import Measured
from fairflac.metrics.comparison import Difference
from fairflac.reporting.page import environment

ROOM = "fairflac.auditing"
COMPARED = (
    "Share of right answers, and the difference in points with its 95 % range. p is the probability of a difference as "
    "large, if both models were alike."
)


Kind = Literal["attribute", "found", "cue", "guess", "class"]


class Bar(NamedTuple):
    label: str
    number: Measured  # a share of images
    against: bool = False  # what is easy goes against the class here


@dataclass(frozen=True)
class Contrast:
    """What the picture shows: a few shares of images, of each model."""

    kind: Kind
    title: str
    bars: Mapping[str, list[Bar]]  # per model
    attribute: str = ""  # that the two groups go by, see `NamedDifference`


@dataclass(frozen=True)
class NumberRow:
    label: str
    cells: list[Measured | str | None]  # None: not measured
    note: str = ""  # what the label means
    mark: str = ""  # a word of warning


@dataclass(frozen=True)
class NumberTable:
    caption: str
    first: str  # the heading of the labels
    columns: list[str]
    rows: list[NumberRow]
    title: str = ""

    @property
    def shown(self) -> list[NumberRow]:
        """A line of which nothing is known says nothing."""
        return [row for row in self.rows if any(cell is not None for cell in row.cells)]


def render_page(template: str, **content: Any) -> str:
    """Only the script that unfolds everything on paper may run."""
    script = (files(ROOM) / "templates" / "print.js").read_text()
    digest = b64encode(sha256(script.encode()).digest()).decode()
    made = environment(ROOM)
    made.tests["measured"] = lambda cell: isinstance(cell, Measured)
    return made.get_template(template).render(**content, script=script, script_hash=digest)


def whole(number: Measured) -> str:
    """In per cent, without decimals: what a reader remembers."""
    return f"{100 * number.value:.0f} %"


def preference(first: str, second: str, found: Difference, what: str) -> str:
    """Which of two models to take; `what`: where the difference was measured, in words."""
    if not found.clear:
        gap = f"{100 * found.difference:+.1f} points {what}"
        return f"Between {first} and {second} there is no clear difference ({gap})."
    better, other = (second, first) if found.difference > 0 else (first, second)
    return f"Take {better}: it is right {100 * abs(found.difference):.1f} points more often than {other} {what}."


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
