"""The pages: the list of runs, one run with its curves, and the report of finished ones."""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from threading import Lock

from jinja2 import Environment
from markupsafe import Markup

from fairflac import __version__
from fairflac.metrics.scores import ACCURACIES, UNKNOWN, metric_of
from fairflac.reporting.page import environment, render
from fairflac.runs.directory import CONFIG
from fairflac.serving.charts import Curve, curves, drawing, number
from fairflac.serving.listing import ORDER, Catalogue, RunLine
from fairflac.system.progress import duration

ROOM = "fairflac.serving"
SHOWN = tuple(name for name in ACCURACIES if name != "aligned")  # whose height says little
KEPT = 12  # pages; each may hold megabytes of images
MOST = 8  # runs beside each other


class Pages:
    """Everything that can be looked at. Pages about finished runs take seconds, and are kept."""

    def __init__(self, root: Path) -> None:
        self.catalogue = Catalogue(root)
        self._reports: OrderedDict[tuple[tuple[str, int], ...], str] = OrderedDict()
        self._drawing = Lock()  # one page at a time: figures share a library that wants it so

    def overview(self, template: str = "list.html") -> str:
        """The list of all runs; `rows.html` is the part of it that changes."""
        lines = self.catalogue.lines()
        return (
            _templates()
            .get_template(template)
            .render(root=self.catalogue.root.resolve(), lines=lines, metrics=_metrics(lines), states=_states(lines))
        )

    def run(self, line: RunLine, template: str = "run.html") -> str:
        """One run while it trains and afterwards; `curves.html` is the part of it that changes."""
        config = "" if line.state == "damaged" else (line.run.path / CONFIG).read_text(encoding="utf-8")
        return _templates().get_template(template).render(line=line, config=config)

    def report(self, lines: Sequence[RunLine]) -> str:
        """The page that `fairflac report` writes of these runs."""
        key = tuple((line.place, (line.run.path / "done").stat().st_mtime_ns) for line in lines)
        with self._drawing:
            page = self._reports.get(key)
            if page is None:
                page = render([line.run for line in lines])
            self._reports[key] = page
            self._reports.move_to_end(key)
            while len(self._reports) > KEPT:
                self._reports.popitem(last=False)
        return page

    def message(self, title: str, text: str) -> str:
        """For what cannot be shown."""
        return _templates().get_template("message.html").render(title=title, text=text)


def asset(name: str) -> str:
    """A script or style sheet."""
    return _templates().get_template(name).render()


@cache
def _templates() -> Environment:
    made = environment(ROOM)
    made.filters |= {
        "curves": _drawn,
        "number": number,
        "when": _when,
        "duration": lambda seconds: UNKNOWN if seconds is None else duration(seconds),
    }
    made.globals |= {"version": __version__, "unknown": UNKNOWN, "most": MOST}
    return made


def _drawn(line: RunLine) -> list[tuple[Curve, Markup]]:
    return [(curve, drawing(curve, line.epochs)) for curve in curves(line.history)]


def _when(seconds: float) -> str:
    """In the time of this place."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M") if seconds else UNKNOWN


def _metrics(lines: Sequence[RunLine]) -> dict[str, str]:
    """Title of each accuracy that any run has."""
    known = [name for name in SHOWN if any(line.numbers.get(name) is not None for line in lines)]
    return {name: metric.title if (metric := metric_of(name)) else name for name in known}


def _states(lines: Sequence[RunLine]) -> dict[str, int]:
    counts = {state: sum(line.state == state for line in lines) for state in ORDER}
    return {state: number for state, number in counts.items() if number}
