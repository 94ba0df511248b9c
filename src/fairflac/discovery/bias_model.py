"""The bias model as training sees it: its output by sample index, or computed on the augmented image."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.config.run_config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.live import bytes_of
from fairflac.discovery.embeddings import Embeddings
from fairflac.discovery.quality import Quality, measure
from fairflac.errors import UserError
from fairflac.methods.base import Method
from fairflac.methods.flac import matched_output
from fairflac.metrics.evidence import count_guesses
from fairflac.nets.frozen import Frozen
from fairflac.runs.directory import Run
from fairflac.system.array_files import computed_arrays
from fairflac.system.files import read_mapped, replacing, write_text
from fairflac.system.parse import parse_json
from fairflac.training.build import load_config, load_method
from fairflac.training.evaluate import infer, infer_parts
from fairflac.types import Output


@dataclass(frozen=True)
class BiasSource:
    """`source(index, x)` → what the bias model says, without gradients."""

    network: Frozen | None  # None: nothing but its table is known
    table: Output | None  # of the training set in index order; None: computed on the image the model sees
    quality: dict[str, float]  # see `quality.measure`
    guess_counts: np.ndarray | None = None  # see `Predictions`; None: its last layer was never trained
    others: "tuple[BiasSource, ...]" = ()  # of further attributes

    @property
    def all(self) -> "tuple[BiasSource, ...]":
        return (self, *self.others)

    def __call__(self, index: Tensor, x: Tensor) -> Output:
        if self.table is not None:
            return Output(self.table.logits[index], self.table.features[index])
        assert self.network is not None
        output: Output = self.network(x)
        return output


def bias_sources(
    config: RunConfig, data: BiasedDataset, fabric: Fabric, run: Run, bias_runs: Sequence[Run], embed: Embeddings
) -> BiasSource:
    """What the finished stage-1 runs give to `run`, the first with all others."""
    first, *others = (
        bias_source(config, data, fabric, run.of_bias_model(number), bias_run, embed)
        for number, bias_run in enumerate(bias_runs, 1)
    )
    return replace(first, others=tuple(others))


def bias_source(
    config: RunConfig, data: BiasedDataset, fabric: Fabric, run: Run, bias_run: Run, embed: Embeddings | None = None
) -> BiasSource:
    """What the finished stage-1 run gives to `run`."""
    model = load_method(bias_run).to(fabric.device)
    data = embed(model.net, data) if embed else data
    cached = config.train.bias_features == "cached"
    if fabric.is_global_zero:
        _store(config, run, bias_run, model, data, fabric, cached)
    fabric.barrier()
    stored, table = _stored(run), _read_output(run, len(data)) if cached else None
    if not stored or (cached and table is None):
        raise UserError(f"'{run.path}' is gone, or what was just written there: give the same command again")
    if table is not None:
        table = Output(*(part.to(fabric.device) for part in table))
    counts = None if stored["guess_counts"] is None else np.array(stored["guess_counts"])
    return BiasSource(Frozen(model.net), table, stored["quality"], counts)


SURE = 50.0  # a logit beside zeros, of which softmax makes 1 and 0


def groups_source(config: RunConfig, data: BiasedDataset, fabric: Fabric, run: Run) -> BiasSource:
    """Groups that were found or given, as a bias model that knows these images and is sure of their values."""
    assert data.guess is not None
    sides = np.eye(int(data.guess.max()) + 1, dtype=np.float32)[data.guess]  # (N, K)
    quality: dict[str, float] = {}
    if fabric.is_global_zero:
        numbers, pairs_per_batch = measure(None, sides, sides, data, "class", config)
        quality = {name: value for name, value in numbers.items() if not name.startswith("class_probe")}
        with replacing(run.pairs_per_batch) as stream:
            np.save(stream, pairs_per_batch)
    values = torch.from_numpy(sides).to(fabric.device)
    return BiasSource(None, Output(values * SURE, values), quality, count_guesses(data.y, data.guess))


def _store(
    config: RunConfig, run: Run, bias_run: Run, model: Method, data: BiasedDataset, fabric: Fabric, cached: bool
) -> None:
    """Quality, and the output for the training set in index order, unless it is there for these weights and data."""
    checksum = _checksum(model, data)
    stored = _stored(run)
    measured = stored.get("checksum") == checksum and "guess_counts" in stored and run.pairs_per_batch.exists()
    if measured and (not cached or _read_output(run, len(data)) is not None):
        return
    rows = len(data)
    run.path.mkdir(exist_ok=True)  # of a further bias model

    def parts(start: int) -> Iterator[tuple[np.ndarray, ...]]:
        for output in infer_parts(model, data, fabric, torch.arange(start, rows)):
            yield tuple(part.cpu().numpy() for part in output)

    if cached:  # of very many images too large for memory
        tables = computed_arrays((run.bias_logits, run.bias_features), rows, checksum, parts)
        output = Output(*map(torch.from_numpy, tables))
    else:
        output = infer(model, data, fabric, torch.arange(rows))
    bias_config = load_config(bias_run)
    trained = bias_config.train.epochs > 0
    quality = judged(output, data, bias_config, config, trained=trained)
    logits = output.logits.cpu().numpy()
    counts = count_guesses(data.y, logits.argmax(1)).tolist() if trained else None
    with replacing(run.pairs_per_batch) as stream:
        np.save(stream, quality.pairs_per_batch)
    record = {"checksum": checksum, "quality": quality.numbers, "guess_counts": counts}
    write_text(_record(run), json.dumps(record))


def judged(output: Output, data: BiasedDataset, bias_config: RunConfig, config: RunConfig, *, trained: bool) -> Quality:
    """How good a bias model is for a run, by its output for the training set; `trained`: its logits mean something."""
    matched = matched_output(*output, config.method_options.get("bias_output", "features")).cpu().numpy()
    logits, features = (part.cpu().numpy() for part in output)
    return measure(logits.argmax(1) if trained else None, features, matched, data, bias_config.target, config)


def _checksum(model: Method, data: BiasedDataset) -> str:
    digest = hashlib.sha256()
    for name, value in model.net.state_dict().items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().numpy().tobytes())
    for part in bytes_of(data.images):
        digest.update(part)
    return digest.hexdigest()


def _record(run: Run) -> Path:
    return run.bias_features.with_suffix(".json")


def _stored(run: Run) -> dict[str, Any]:
    try:
        content: dict[str, Any] = parse_json(_record(run).read_text())
    except (OSError, ValueError):
        return {}
    return content


def _read_output(run: Run, rows: int) -> Output | None:
    """None when it is not there, damaged or of other rows, which costs nothing but computing it again."""
    try:
        logits, features = (read_mapped(path) for path in (run.bias_logits, run.bias_features))
    except ValueError:
        return None
    whole = len(logits) == len(features) == rows
    return Output(torch.from_numpy(logits), torch.from_numpy(features)) if whole else None
