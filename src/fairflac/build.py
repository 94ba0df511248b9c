"""From names in a config to the things they name."""

from pathlib import Path
from typing import Any

import torch

from fairflac import checkpoint
from fairflac.config import RunConfig
from fairflac.data import DATASETS
from fairflac.data.base import BiasedDataset, Split
from fairflac.errors import UserError
from fairflac.methods import METHODS
from fairflac.methods.base import Method
from fairflac.nets import NETS
from fairflac.runs import Run
from fairflac.types import TaskSpec


def load_split(config: RunConfig, root: Path, split: Split) -> BiasedDataset | None:
    """One split of the run's dataset, with the run's target as class."""
    dataset: Any = DATASETS[config.dataset]
    loaded: BiasedDataset | None = dataset(config.seed, **config.data_options).load(root, split)
    return loaded.with_target(config.target) if loaded else None


def build_method(config: RunConfig, task: TaskSpec) -> Method:
    """The method around a new network; initial weights come from torch's generator."""
    network: Any = NETS[config.net]
    net = network(task.num_classes, **config.net_options).to(memory_format=torch.channels_last)
    method: Any = METHODS[config.method]
    built: Method = method(net, task, **config.method_options)
    return built


def load_config(run: Run) -> RunConfig:
    try:
        return RunConfig.model_validate(run.config)
    except ValueError as error:  # of TOML or of pydantic
        raise UserError(f"'{run.path / 'config.toml'}' is not the config of a run of this version") from error


def load_method(run: Run) -> Method:
    """The trained model of a run, as its selection rule chose it."""
    config = load_config(run)
    content = checkpoint.load(run.last if config.train.selection == "last" else run.best)
    method = build_method(config, TaskSpec.from_dict(content["task"]))
    method.load_state_dict(content["method"])
    return method.eval()
