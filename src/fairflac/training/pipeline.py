"""From a config to a finished run: data, network, bias model, training, evaluation."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.config.run_config import RunConfig
from fairflac.config.settings import OTHERS
from fairflac.data import DATASETS, imagenet_weights
from fairflac.data.base import BiasedDataset
from fairflac.data.batches import inputs_of
from fairflac.data.own.groups import given_share
from fairflac.data.pixels.augment import make_augmentation
from fairflac.discovery.bias_model import BiasSource, bias_sources, groups_source
from fairflac.discovery.embeddings import Embeddings
from fairflac.discovery.quality import quality_line
from fairflac.errors import UserError
from fairflac.methods import METHODS
from fairflac.methods.base import Method
from fairflac.methods.flac import PairMatching
from fairflac.metrics import summary
from fairflac.metrics.groups import class_numbers
from fairflac.metrics.predictions import Predictions
from fairflac.nets.weights import IMAGENET
from fairflac.runs.directory import Run, Workspace, share_trained
from fairflac.runs.gallery import Gallery, Samples
from fairflac.system import checkpoint
from fairflac.system.files import check_folder, write_text
from fairflac.system.hardware import describe
from fairflac.system.invocation import typed_command
from fairflac.system.progress import expect, stages, tell, tell_once
from fairflac.training.build import build_method, check_labels, check_weights, images_of, load_method, load_splits
from fairflac.training.engine import Training, TrainingState, in_precision, make_fabric
from fairflac.training.evaluate import EVALUATION_BATCH, collapse_advice, predictions
from fairflac.training.history import HistoryLog, check_logger
from fairflac.training.precision import check_precision, choose_precision
from fairflac.training.processes import tell_first, why_lost
from fairflac.types import Batch

NO_WEIGHTS = (
    "starts from scratch: the ImageNet weights that the paper starts from are not here. With age as shortcut that "
    "costs an ordinary model 4 points on UTKFace, and FLAC more than ten. To get them, 47 MB: "
    "fairflac data get imagenet-weights"
)


def import_bias_models(settings: Mapping[str, Any], workspace: Workspace) -> None:
    """Copy the finished runs that settings name as bias models."""
    named = [settings.get("bias_model"), *(table.get("run") for table in settings.get(OTHERS, ()))]
    for path in named:
        if isinstance(path, str):
            import_run(Path(path), workspace)


def import_run(path: Path, workspace: Workspace) -> None:
    """Copy a finished run from elsewhere to where `workspace` would have made it."""
    given = Run.open(path)
    home = workspace.run(RunConfig.model_validate(given.config))
    if not home.done:
        with home.locked():
            home.copy(given)


def train_config(
    config: RunConfig,
    workspace: Workspace,
    *,
    resume: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    as_bias_model: bool = False,
) -> Run | None:
    """Train what is not trained yet, stage 1 included; the finished run, or None on all processes but the first."""
    run = workspace.run(config)
    if run.done and resume:
        _check_images(config, run)
        return run
    check_logger(workspace.logger)
    try:
        fabric = make_fabric(devices=devices, num_nodes=num_nodes)
        with stages():
            expect(stage_work([config], workspace))
            _complete(config, workspace, fabric, resume, bias_label(config) if as_bias_model else None)
    except UserError as error:
        tell_first(str(error))
        raise
    except RuntimeError as error:
        if "gloo" not in str(error) and not isinstance(error, torch.distributed.DistError):
            raise
        raise UserError(why_lost()) from error  # from a message between processes
    return run if fabric.is_global_zero else None


def dry_run(config: RunConfig, workspace: Workspace, resume: bool = True) -> None:
    """Do everything but training, for a run and the one it depends on: what would end them later is said now."""
    check_folder(workspace.runs)
    run = workspace.run(config)
    for stage_one in config.stages_one():
        _check_images(stage_one, workspace.run(stage_one))
        if not workspace.run(stage_one).done:
            build_method(stage_one, load_splits(stage_one, workspace.data).train.task, workspace.data)
    if resume:
        _check_images(config, run)
    if not (run.done and resume):
        data = load_splits(config, workspace.data).train
        build_method(config, data.task, workspace.data)
        for bias_run in map(workspace.run, config.stages_one()):
            if bias_run.done:
                _try_bias_model(bias_run, data)


def _try_bias_model(run: Run, data: BiasedDataset) -> None:
    """A run from elsewhere may take other images."""
    model = load_method(run)
    try:
        with torch.no_grad():
            model.predict(*inputs_of(data, torch.device("cpu"))(torch.arange(2)))
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"'{run.path}' cannot serve as bias model: its {type(model.net).__name__} does not take images of "
            f"{data.task.image_size[0]} x {data.task.image_size[1]} pixels"
        ) from error


def _complete(
    config: RunConfig, workspace: Workspace, fabric: Fabric, resume: bool = True, label: str | None = None
) -> Run:
    """One run and the run it depends on, on processes that already work together; `label`: what progress calls it."""
    run = workspace.run(config)
    if resume:
        _check_images(config, run)
    if run.done and resume:
        return run
    if config.train.batch_size % fabric.world_size:
        raise UserError(f"batch_size {config.train.batch_size} does not divide by {fabric.world_size} processes")
    check_precision(config.train.precision, fabric.device)
    check_weights(config, workspace.data)
    stages_one = config.stages_one()
    if not all(workspace.run(stage_one).done for stage_one in stages_one):
        dry_run(config, workspace, resume)
    bias_runs = [_complete(one, workspace, fabric, label=bias_label(one)) for one in stages_one]
    if not fabric.is_global_zero:
        _train(config, workspace, fabric, run, bias_runs, HistoryLog(run), label)
        return run
    with run.locked():
        if run.done and resume and fabric.world_size == 1:
            return run  # finished by another process while this one trained the bias model
        if not resume:
            run.forget()
        run.begin(
            config.to_toml(), {**describe(), "processes": fabric.world_size, **_weights(config, workspace), **_typed()}
        )
        write_text(run.images, images_of(config) or "")
        with HistoryLog(run, workspace.logger, config) as log:
            _train(config, workspace, fabric, run, bias_runs, log, label)
    return run


def _weights(config: RunConfig, workspace: Workspace) -> dict[str, str]:
    """Which file the ImageNet weights came from, for the record of a run that starts from them."""
    if config.net_options.get("weights") != IMAGENET:
        return {}
    return {"weights": f"{IMAGENET}, sha256 {imagenet_weights.digest(workspace.data)}…"}


def stage_work(configs: Sequence[RunConfig], workspace: Workspace) -> dict[str, float]:
    """What there is to train for these runs, bias models included, by the label of its progress: images to pass."""
    labels: dict[str, tuple[str, RunConfig]] = {}  # by run: one may be a result and somebody's bias model
    for config in configs:
        for stage_one in config.stages_one():
            labels.setdefault(stage_one.folder, (bias_label(stage_one), stage_one))
        labels.setdefault(config.folder, (stage_label(config), config))
    return {
        label: _image_passes(one, workspace.run(one)) for label, one in labels.values() if not workspace.run(one).done
    }


def _image_passes(config: RunConfig, run: Run) -> float:
    # Of a user's own images nobody knows the number yet, which is the same for all runs.
    images = DATASETS[config.dataset].expected_images(config.data_options) or 1
    return images * config.train.epochs * (1 - share_trained(run, config.train.epochs))


def stage_label(config: RunConfig) -> str:
    """What progress calls the training of a run."""
    return config.method if config.target == "class" else bias_label(config)


def _typed() -> dict[str, str]:
    command = typed_command()
    return {"command": command} if command else {}


def bias_label(stage_one: RunConfig) -> str:
    """What progress calls it."""
    return f"bias model ({stage_one.method if stage_one.target == 'class' else stage_one.target})"


def _check_images(config: RunConfig, run: Run) -> None:
    """What a run has kept goes by position in one list of images, and tells nothing about another."""
    if not (run.last.exists() or run.done):
        return  # it has kept nothing: it was ended by what was wrong with its images or groups
    known = run.images.read_text() if run.images.exists() else ""  # a run of an earlier version does not say
    if known and known != images_of(config):
        raise UserError(
            f"'{config.data_options['path']}' has other images, labels, splits or groups than '{run.path}' was begun "
            "with: begin in another folder, or train it anew (--restart; in Python resume=False)"
        )


def _train(
    config: RunConfig,
    workspace: Workspace,
    fabric: Fabric,
    run: Run,
    bias_runs: Sequence[Run],
    log: HistoryLog,
    label: str | None = None,
) -> None:
    fabric.barrier()
    assert config.seed is not None
    data, validation, test = load_splits(config, workspace.data)
    if config.lacks_weights and not workspace.silent:
        tell_once(NO_WEIGHTS)
    if fabric.is_global_zero:
        Samples.of(data).save(run.samples)
    embed = Embeddings(workspace.data / "cache", fabric, workspace.silent)
    bias = None
    if bias_runs:
        bias = bias_sources(config, data, fabric, run, bias_runs, embed)
    elif METHODS[config.method].needs_bias_model:
        bias = groups_source(config, data, fabric, run)
    torch.manual_seed(config.seed)  # the same initial weights on all processes
    method = build_method(config, data.task, workspace.data)
    label = label or stage_label(config)
    seen, validation = embed(method.net, data), validation and embed(method.net, validation)
    state = fit(method, config, seen, fabric, run, bias, validation, label=label, silent=workspace.silent, log=log)
    history = state.history
    if config.train.selection != "last":
        best = checkpoint.load(run.best)
        method.load_state_dict(best["method"])
        history = best["state"]["history"]  # up to the epoch that is kept
    table = predictions(method, embed(method.net, test), fabric)
    if bias_runs and bias and bias.guess_counts is not None and not table.bias:
        bias_model = load_method(bias_runs[0]).to(fabric.device)
        guess = predictions(bias_model, embed(bias_model.net, test), fabric).prediction
        table = replace(table, guess=guess, guess_counts=bias.guess_counts)
    elif bias and test.guess is not None and not table.bias:
        table = replace(table, guess=test.guess, guess_counts=bias.guess_counts)
    if fabric.is_global_zero:
        if not workspace.silent and (collapse := collapse_advice(table, "test")):
            tell(f"{label}: {collapse}")
        training_images: list[int] = np.bincount(data.y, minlength=data.task.num_classes).tolist()
        result = {
            "dataset": config.dataset,
            "method": config.method,
            "target": config.target,
            "seed": config.seed,
            "selection": config.train.selection,
            "test": summary(table),
            "validation": history[-1].get("validation") if history else None,
            "training_images": training_images,
            **class_numbers(table, data.task.classes, training_images),
            "seconds": round(state.seconds, 1),
            "attribute_labels": _attribute_labels(config, method, bias_runs),
            "bias_model": bias_runs[0].path.name if bias_runs else None,
            "bias_model_quality": bias.quality if bias else {},
            **_of_others(bias_runs, bias),
            "from_scratch": config.lacks_weights,
            "classes": data.task.classes,
            "attributes": {name: attribute.values for name, attribute in data.task.attributes.items()},
            "guess_values": bias_runs[0].result.get("classes") if bias_runs else list(data.guess_values),
        }
        Gallery.of(test, table).save(run.gallery)
        run.finish(result, table)
        log.write_result(result["test"])
    fabric.barrier()


def _of_others(bias_runs: Sequence[Run], bias: BiasSource | None) -> dict[str, Any]:
    """The bias models of further attributes, and how good they are."""
    if bias is None or not bias.others:
        return {}
    found = zip(bias_runs[1:], bias.others, strict=True)
    return {OTHERS: [{"run": run.path.name, "quality": source.quality} for run, source in found]}


def predict_run(
    run: Run, data: BiasedDataset, method: Method | None = None, *, cache: Path | None = None
) -> Predictions:
    """What the model of a finished run says of these images; `method`: that model, where it is loaded already.

    `cache`: the folder of embeddings, where a part of the network is frozen.
    """
    fabric = make_fabric()
    method = (method or load_method(run)).to(fabric.device)
    seen = data if cache is None else Embeddings(cache, fabric)(method.net, data)
    return predictions(method, seen, fabric)


def fit(
    method: Method,
    config: RunConfig,
    data: BiasedDataset,
    fabric: Fabric,
    run: Run,
    bias: BiasSource | None = None,
    validation: BiasedDataset | None = None,
    *,
    label: str,
    silent: bool = False,
    log: HistoryLog | None = None,
) -> TrainingState:
    """Train a method on images in memory to the last epoch, or go on with what `run` has of it.

    Seeds torch's generator: what a method draws in its steps differs between processes. `log` is told every epoch.
    """
    method.to(fabric.device)
    precision = _precision(method, config, data, fabric, run)
    fabric = in_precision(fabric, precision)
    if fabric.is_global_zero:
        run.add_to_env(precision=precision)
    torch.manual_seed((config.seed or 0) * 1_000_003 + fabric.global_rank)
    batches = Batches(method, data, config, fabric, bias)
    method.prepare(batches.everything())
    training = Training(method, batches, len(data), config, fabric, run, validation, log)
    source = "groups" if config.bias_model is None else "bias model"
    pairs = isinstance(method, PairMatching)
    said = [quality_line(one.quality, matches_pairs=pairs) for one in (bias.all if bias else ())]
    opening = "; ".join(f"{source}: {line}" for line in said if line) or None
    return training.fit(label, silent=silent, opening=opening)


def _precision(method: Method, config: RunConfig, data: BiasedDataset, fabric: Fabric, run: Run) -> str:
    """Chosen by the first process for all of them."""
    chosen = ""
    if fabric.is_global_zero:
        begun = checkpoint.load(run.last, mapped=True).get("precision") if run.last.exists() else None
        shape = data.images.shape[1:] if data.images.ndim == 2 else (3, *data.task.image_size)
        chosen = choose_precision(config.train.precision, method.net, shape, fabric.device, begun)
    return fabric.broadcast(chosen)


def _attribute_labels(config: RunConfig, method: Method, bias_runs: Sequence[Run]) -> float:
    """The share of the training images whose attribute labels were used, by the method or to train its bias model."""
    own = method.label_share if method.uses_bias_labels else 0.0
    if method.needs_bias_model and config.data_options.get("groups"):
        own = max(own, given_share(Path(config.data_options["groups"])))
    shares: list[float] = [run.result.get("attribute_labels", 0.0) for run in bias_runs]
    return max(own, *shares, 0.0)


class Batches:
    """Indices and the epoch → Batch, with nothing in it that the method did not declare."""

    def __init__(
        self, method: Method, data: BiasedDataset, config: RunConfig, fabric: Fabric, bias: BiasSource | None
    ) -> None:
        augment = make_augmentation(config.train.augment, data.task.image_size, config.seed or 0)
        self.inputs, self.plain = inputs_of(data, fabric.device, augment), inputs_of(data, fabric.device)
        self.y = torch.from_numpy(data.y).to(fabric.device)
        check_labels(config, data)
        joint = data.joint_bias() if method.uses_bias_labels else None
        self.labels = None if joint is None else _partly(joint, method.label_share, config.seed or 0).to(fabric.device)
        self.views = method.num_views
        self.bias = bias

    def __call__(self, index: Tensor, epoch: int) -> Batch:
        return self._batch(index, self.inputs(index, self.views, epoch))

    def ahead(self, batches: Sequence[Tensor]) -> Generator[Tensor]:
        """The same batches of indices, one after the other; what takes long is begun before it is needed."""
        return self.inputs.ahead(batches)

    def unaugmented(self) -> Iterator[Batch]:
        """Every sample once, in index order, as it is."""
        for part in self.plain.ahead(torch.arange(len(self.y)).split(EVALUATION_BATCH)):
            yield self._batch(part, self.plain(part))

    def _batch(self, index: Tensor, views: tuple[Tensor, ...]) -> Batch:
        index = index.to(self.y.device, non_blocking=True)
        labels = None if self.labels is None else self.labels[index]
        output, *others = (None,) if self.bias is None else (one(index, views[0]) for one in self.bias.all)
        return Batch(views, self.y[index], index, labels, output, tuple(others))

    def everything(self) -> Batch:
        """The whole training set without its images, and so without what is computed on augmented ones."""
        index = torch.arange(len(self.y), device=self.y.device)
        output, *others = (None,) if self.bias is None else (one.table for one in self.bias.all)
        return Batch((), self.y, index, self.labels, output, tuple(one for one in others if one is not None))


def _partly(labels: np.ndarray, share: float, seed: int) -> Tensor:
    """(N,) with -1 in place of all labels but a share, drawn at random."""
    kept = torch.from_numpy(labels.copy())
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    kept[order[round(share * len(labels)) :]] = -1
    return kept
