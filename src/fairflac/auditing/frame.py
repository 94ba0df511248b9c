"""What the pages of an audit share: tables of numbers, and one file that needs nothing else."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from fairflac.metrics import Measured
from fairflac.reporting.page import environment

ROOM = "fairflac.auditing"


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
