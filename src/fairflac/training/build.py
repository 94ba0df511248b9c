"""From names in a config to the things they name."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch

from fairflac.config import plugins
from fairflac.config.options import checked, options_of
from fairflac.config.run_config import RunConfig
from fairflac.data import DATASETS
from fairflac.data.base import BiasedDataset, Split
from fairflac.data.own.csv_file import Table
from fairflac.data.own.folder import Folder
from fairflac.data.own.groups import with_guesses
from fairflac.errors import UserError, unknown
from fairflac.methods import METHODS
from fairflac.methods.base import Method
from fairflac.nets import NETS
from fairflac.nets.weights import IMAGENET, find_imagenet_file, sha256_of
from fairflac.runs.directory import Run
from fairflac.system import checkpoint
from fairflac.system.files import data_root
from fairflac.types import Network, TaskSpec

SMALLEST = 8  # images in a batch that is worth a proposal


def load_split(config: RunConfig, root: Path, split: Split) -> BiasedDataset | None:
    """One split of the run's dataset, with the run's target as class."""
    dataset: Any = DATASETS[config.dataset]
    built = dataset(config.seed, **config.data_options)
    loaded: BiasedDataset | None = built.load(root, split)
    if loaded is None:
        return None
    said, found = dataset.framing.stored(loaded.task.image_size), loaded.images.shape[1:-1]
    if found not in ((), said):  # vectors have no size
        raise UserError(f"{config.dataset} keeps images of {found}, and its framing says {said}: correct one of them")
    if config.data_options.get("groups"):
        loaded = with_guesses(loaded, built.groups, built.listing())
    return loaded.with_target(config.target)


def images_of(config: RunConfig) -> str | None:
    """Which files a run on a user's own images would see, without opening them; None: a published set."""
    dataset: Any = DATASETS[config.dataset]
    if dataset not in (Folder, Table):
        return None
    built = dataset(config.seed, **config.data_options)
    identity: str = built.listing().identity
    return identity if built.groups is None else f"{identity} {sha256_of(built.groups)[:16]}"


class Splits(NamedTuple):
    """All images that a run looks at."""

    train: BiasedDataset
    validation: BiasedDataset | None
    test: BiasedDataset


def load_splits(config: RunConfig, root: Path) -> Splits:
    """The splits of the run's dataset, which must be enough for its settings."""
    train, validation, test = (load_split(config, root, name) for name in get_args(Split))
    if train is None or len(train) < config.train.batch_size // 2 or len(train) < 2:
        raise UserError(_too_few(config, len(train or ())))
    if validation is None and config.train.selection != "last":
        raise UserError(f"selection = '{config.train.selection}' needs validation data: set validation above 0")
    check_labels(config, train)
    assert test is not None
    return Splits(train, validation, test)


def _too_few(config: RunConfig, images: int) -> str:
    """What leaves so few images, with its present values, and how to change that."""
    options = dict(options_of(DATASETS[config.dataset])(**config.data_options))
    held_out = " and ".join(f"{name} = {options[name]:g}" for name in ("validation", "test") if options.get(name))
    ways = ["add images"]
    if images >= SMALLEST:
        ways.append(f"take smaller batches (batch_size={1 << images.bit_length() - 1})")
    if held_out:
        ways.append(f"hold out a smaller share (now {held_out}; for example validation=0.05)")
    return (
        f"{config.dataset} leaves {images} images to train on, too few for batches of {config.train.batch_size}: "
        + ", or ".join(ways)
    )


def check_labels(config: RunConfig, data: BiasedDataset) -> None:
    """A method that learns from attribute labels needs some."""
    if METHODS[config.method].uses_bias_labels and not data.bias:
        raise UserError(f"'{config.method}' needs attribute labels, and '{config.dataset}' has none for this target")


def load_other(
    name: str, changes: dict[str, Any], task: TaskSpec, seed: int, root: Path, split: Split
) -> BiasedDataset | None:
    """A split of another dataset, for a model of `task`: the classes must be the same, in the same order."""
    if name not in DATASETS:
        unknown("dataset", name, DATASETS)
    dataset: Any = DATASETS[name]
    loaded: BiasedDataset | None = dataset(seed, **dict(checked(options_of(dataset), changes, name))).load(root, split)
    if loaded is not None and loaded.task.classes != task.classes:
        raise UserError(f"the model knows {_few(task.classes)}, and {name} has {_few(loaded.task.classes)}")
    # What the network sees is its own affair: size and normalisation are those that it was trained with.
    own = {key: getattr(task, key) for key in ("image_size", "mean", "std")}
    return None if loaded is None else replace(loaded, task=replace(loaded.task, **own))


def _few(classes: tuple[str, ...]) -> str:
    return ", ".join(classes[:3]) + (f" and {len(classes) - 3} more classes" if len(classes) > 3 else "")


def build_method(config: RunConfig, task: TaskSpec, data: Path | None = None) -> Method:
    """The method around a new network; initial weights come from torch's generator, or from a file.

    `data` is the folder of datasets, which has the ImageNet weights.
    """
    method: Any = METHODS[config.method]
    nets = [_build_net(config.net, config.net_options, method.num_logits(task), data)]
    if config.biased_net is not None:
        biased = config.biased_net
        nets.append(_build_net(biased.net, biased.net_options, method.num_biased_logits(task), data))
    built: Method = method(nets[0], task, *nets[1:], **config.method_options)
    return built


def check_weights(config: RunConfig, data: Path) -> None:
    """Before any work: the files that networks start from must be there, and be theirs."""
    for network in (config, config.biased_net):
        weights = network and network.net_options.get("weights")
        if network is None or weights is None:
            continue
        if weights == IMAGENET:  # verified when it was fetched
            find_imagenet_file(data, network.net)
        else:
            _build_net(network.net, network.net_options, 2, data)


def _build_net(name: str, options: dict[str, Any], outputs: int, data: Path | None) -> Network:
    network: Any = NETS[name]
    if options.get("weights") == IMAGENET:
        options = {**options, "weights": find_imagenet_file(data or data_root(), name)}
    built: Network = network(outputs, **options).to(memory_format=torch.channels_last)
    return built


def load_config(run: Run) -> RunConfig:
    """The config of a run, checked as if it had just been given."""
    plugins.load()
    try:
        config = RunConfig.model_validate(run.config)
        _check_names(config, run)
        if config.seed is None:
            raise ValueError("a run has a seed")
        options_of(DATASETS[config.dataset])(**config.data_options)
        options_of(NETS[config.net])(**config.net_options)
        options_of(METHODS[config.method])(**config.method_options)
        if config.biased_net is not None:
            options_of(NETS[config.biased_net.net])(**config.biased_net.net_options)
        attributes = DATASETS[config.dataset].attributes
        if config.target != "class" and attributes is not None and config.target not in attributes:
            raise ValueError("no such attribute")
    except (ValueError, KeyError) as error:
        raise UserError(f"'{run.path / 'config.toml'}' is not the config of a run of this version") from error
    return config


def _check_names(config: RunConfig, run: Run) -> None:
    """A run of a plug-in needs it again."""
    parts: dict[str, tuple[str, Collection[str]]] = {
        "method": (config.method, METHODS),
        "dataset": (config.dataset, DATASETS),
        "net": (config.net, NETS),
    }
    for kind, (name, registry) in parts.items():
        if name not in registry:
            raise UserError(
                f"'{run.path}' has the {kind} '{name}', which is not known here: name its plug-in "
                "(--plugin FILE; in Python the variable FAIRFLAC_PLUGINS)"
            )


def load_method(run: Run) -> Method:
    """The trained model of a run, as its selection rule chose it."""
    config = load_config(run)
    content = checkpoint.load(run.last if config.train.selection == "last" else run.best)
    try:
        method = build_method(config.without_weights(), TaskSpec.from_dict(content["task"]))
        method.load_state_dict(content["method"])
    except (KeyError, TypeError, RuntimeError) as error:
        raise UserError(f"the checkpoint and config.toml in '{run.path}' do not belong together") from error
    return method.eval()
