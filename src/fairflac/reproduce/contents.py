"""What can be reproduced, what it needs, and how long it would take here."""

import json
from dataclasses import asdict, dataclass

from fairflac.config import RunConfig
from fairflac.reproduce.estimate import hours
from fairflac.reproduce.figures import figure_configs
from fairflac.reproduce.grid import plan
from fairflac.reproduce.jobs import jobs_for
from fairflac.reproduce.published import FIGURES, published, published_names
from fairflac.reproduce.scales import Scale

NO_RUNS = "table1"  # made from what methods declare


@dataclass(frozen=True)
class Entry:
    """One table or figure."""

    name: str
    alias: str
    title: str
    datasets: list[str]
    runs: int  # bias models included
    hours: float  # estimated, one run after the other


def contents(scale: Scale, only: str | None = None) -> list[Entry]:
    """Tables, then figures, in the order of the paper; or one of them."""
    entries = []
    for name in published_names():
        if only not in (None, name):
            continue
        table = published(name)
        configs = [] if name == NO_RUNS else plan(table, scale).configs()
        entries.append(_entry(name, table.alias, table.title, configs))
    shown = {name: figure for name, figure in FIGURES.items() if only in (None, name)}
    return entries + [_entry(name, "", figure.title, figure_configs(name, scale)) for name, figure in shown.items()]


def _entry(name: str, alias: str, title: str, configs: list[RunConfig]) -> Entry:
    all_runs = [job.config for job in jobs_for(configs)]
    datasets = list(dict.fromkeys(config.dataset for config in all_runs))
    return Entry(name, alias, title, datasets, len(all_runs), round(hours(all_runs), 2))


def as_text(entries: list[Entry], scale: Scale) -> str:
    lines = [("", "", "needs", "runs", "hours", "")]
    for entry in entries:
        needs = ", ".join(entry.datasets) or "nothing"
        lines.append((entry.name, entry.alias, needs, str(entry.runs), f"{entry.hours:,.1f}", entry.title))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = "\n".join(
        f"{name:<{widths[0]}}  {alias:<{widths[1]}}  {needs:<{widths[2]}}  {runs:>{widths[3]}}  {time:>{widths[4]}}  "
        f"{title}".rstrip()
        for name, alias, needs, runs, time, title in lines
    )
    return f"{body}\n\nScale {scale}. Hours are an estimate from a training step measured now, one run at a time."


def as_json(entries: list[Entry]) -> str:
    return json.dumps([asdict(entry) for entry in entries], indent=1)
