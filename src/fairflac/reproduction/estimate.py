"""How long runs would take on this machine, from the measured time of a training step."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache

import torch

from fairflac.config.run_config import RunConfig
from fairflac.data import DATASETS
from fairflac.reproduction.plan import figure_configs, jobs_for, plan
from fairflac.reproduction.published import FIGURES, Scale, published, published_names
from fairflac.training.build import build_method
from fairflac.training.precision import any_task, plain, seconds_per_image

UNKNOWN_SIZE = 32  # pixels a side, of a dataset that does not say


def hours(configs: Iterable[RunConfig]) -> float:
    """Of runs one after the other, on all cores."""
    return sum(map(seconds, configs)) / 3600


def seconds(config: RunConfig) -> float:
    """Of one run, without its bias model."""
    return image_passes(config) * seconds_per_image(_plain(config))


def image_passes(config: RunConfig) -> float:
    """How many images go through the network in a whole training."""
    return config.train.epochs * training_images(config) * _passes(config)


def training_images(config: RunConfig) -> int:
    """As the dataset says; 0 if it does not."""
    return DATASETS[config.dataset].expected_images(config.data_options) or 0


def _plain(config: RunConfig) -> RunConfig:
    usual = DATASETS[config.dataset].usual_size or UNKNOWN_SIZE
    return plain(config, config.data_options.get("size") or usual)


def _passes(config: RunConfig) -> float:
    """How often an image goes through the network: its views, and further networks by their size."""
    plain = _plain(config)
    own = {"dataset": plain.dataset, "data_options": plain.data_options, "net_options": plain.net_options}
    few = config.model_copy(update={**own, "train": plain.train, "seed": None, "bias_model": None})
    return _relative_cost(few.model_dump_json(), plain.model_dump_json())


@cache
def _relative_cost(config: str, plain: str) -> float:
    full, bare = (RunConfig.model_validate_json(text) for text in (config, plain))
    with torch.device("meta"):
        method, net = build_method(full, any_task(bare)), build_method(bare, any_task(bare))
    return method.num_views * _size(method) / _size(net)


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


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
