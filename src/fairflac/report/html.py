"""The report page: one file that needs nothing else, for people who have not read the paper."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fairflac import __version__
from fairflac.errors import UserError
from fairflac.files import write_text
from fairflac.report.caveats import caveats
from fairflac.report.models import by_data
from fairflac.report.part import part
from fairflac.report.provenance import machines, makings
from fairflac.report.ranges import span
from fairflac.report.results import further_metrics
from fairflac.report.tables import UNKNOWN, percent
from fairflac.runs import Run

TITLE = "Does the model lean on a shortcut?"
RANGE = re.compile(r"(\([^()]*), (n = [\d,]+[^()]*\))")


def render(runs: Sequence[Run], title: str = TITLE, foreword: Sequence[str] = ()) -> str:
    """The page as text; a foreword are sentences that stand before everything else."""
    parts = [part(members) for members in by_data(runs).values()]
    if not parts:
        raise UserError("there is nothing to report: none of these runs is a finished model of the classes")
    script = (files("fairflac.report") / "page.js").read_text()
    template = environment().get_template("page.html")
    return template.render(
        title=title,
        foreword=foreword,
        parts=parts,
        meanings={column.title: column.meaning for part in parts for column in part.columns},
        further=further_metrics(),
        makings=makings(runs),
        machines=machines(runs),
        unknown=UNKNOWN,
        caveats=caveats(runs),
        version=__version__,
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def environment(package: str = "fairflac.report") -> Environment:
    """For the templates of a package, which may include those of this one."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in dict.fromkeys((package, "fairflac.report"))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "span": span, "lighter": _lighter}
    made.tests |= {
        "same_class": lambda place, tiles, query: tiles[place].y == query.y,
        "same_value": lambda place, tiles, query: tiles[place].joint == query.joint,
    }
    return made


def write(runs: Sequence[Run], path: Path, title: str = TITLE, foreword: Sequence[str] = ()) -> None:
    write_text(path, render(runs, title, foreword))


def _lighter(sentence: str) -> Markup:
    """Ranges in brackets stand back, so that a sentence can be read without them."""
    marked = RANGE.sub(r"<small><span>\1,</span> <span>\2</span></small>", str(escape(_unbroken(sentence))))
    return Markup(marked)  # a line may end between range and n only


def _unbroken(value: object) -> object:
    """No line ends between a number and its sign. What is markup already stays as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return value.replace(" %", "\N{NO-BREAK SPACE}%")
    return value
