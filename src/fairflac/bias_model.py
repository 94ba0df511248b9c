"""The bias model as training sees it: features by sample index, or computed on the augmented image."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.build import load_config, load_method
from fairflac.config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.evaluate import infer
from fairflac.files import replacing, write_text
from fairflac.methods.base import Frozen, Method
from fairflac.runs import Run


@dataclass(frozen=True)
class BiasSource:
    """`source(index, x)` → (B, D_b) features without gradients."""

    network: Frozen
    table: Tensor | None  # (N, D_b) of the training set in index order; None: computed on the image the model sees
    quality: dict[str, float]  # per attribute that is known: share of training samples for which it names the value

    def __call__(self, index: Tensor, x: Tensor) -> Tensor:
        if self.table is not None:
            return self.table[index]
        features: Tensor = self.network(x).features
        return features


def bias_source(config: RunConfig, data: BiasedDataset, fabric: Fabric, run: Run, bias_run: Run) -> BiasSource:
    """What the finished stage-1 run gives to `run`."""
    model = load_method(bias_run).to(fabric.device)
    table = None
    if config.train.bias_features == "cached":
        if fabric.is_global_zero:
            _store_features(run, bias_run, model, data, fabric)
        fabric.barrier()
        features = _read_features(run)
        assert features is not None
        table = torch.from_numpy(features).to(fabric.device)
    return BiasSource(Frozen(model.net), table, _stored(run).get("agreement", {}))


def _store_features(run: Run, bias_run: Run, model: Method, data: BiasedDataset, fabric: Fabric) -> None:
    """Compute features of the training set in index order, unless they are there for these weights and these data."""
    checksum = _checksum(model, data)
    if _stored(run).get("checksum") == checksum and _read_features(run) is not None:
        return
    logits, features = infer(model, data, fabric, torch.arange(len(data)))
    with replacing(run.bias_features) as stream:
        np.save(stream, features.cpu().numpy())
    agreement = _agreement(logits.argmax(1).cpu().numpy(), load_config(bias_run).target, data)
    write_text(_record(run), json.dumps({"checksum": checksum, "agreement": agreement}))


def _agreement(prediction: np.ndarray, target: str, data: BiasedDataset) -> dict[str, float]:
    """A model of the classes names the value that goes with its class; a model of one attribute is asked for that."""
    named = {
        name: np.array(data.task.attributes[name].aligned)[prediction] if target == "class" else prediction
        for name in data.bias
        if target in ("class", name)
    }
    return {name: float(np.mean(values == data.bias[name])) for name, values in named.items()}


def _checksum(model: Method, data: BiasedDataset) -> str:
    digest = hashlib.sha256()
    for name, value in model.net.state_dict().items():
        digest.update(name.encode())
        digest.update(value.detach().cpu().numpy().tobytes())
    digest.update(np.ascontiguousarray(data.images).data)
    return digest.hexdigest()


def _record(run: Run) -> Path:
    return run.bias_features.with_suffix(".json")


def _stored(run: Run) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(_record(run).read_text())
    except (OSError, ValueError):
        return {}
    return content


def _read_features(run: Run) -> np.ndarray | None:
    """None when they are not there or damaged, which costs nothing but computing them again."""
    try:
        features: np.ndarray = np.load(run.bias_features)
    except (OSError, ValueError, EOFError):
        return None
    return features
