"""Both stages in memory, through the same engine as every run."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn

from fairflac.bias_model import BiasSource, judged
from fairflac.build import build_method
from fairflac.config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.tensors import inputs_of
from fairflac.engine import make_fabric
from fairflac.errors import Stopped
from fairflac.evaluate import infer
from fairflac.methods import METHODS, Frozen, Method
from fairflac.nets import NETS, adapt
from fairflac.runs import Run
from fairflac.train import fit
from fairflac.types import Output


@dataclass(frozen=True)
class Learnt:
    """What a fitted estimator keeps."""

    method: Method
    history: list[dict[str, Any]]  # one entry per epoch
    quality: dict[str, float]  # of the bias model


@dataclass(frozen=True)
class OwnModule:
    """A user's module and the layer that its features come from."""

    module: nn.Module
    features: str | None


def learn(
    config: RunConfig,
    data: BiasedDataset,
    own: OwnModule | None,
    bias_features: np.ndarray | None,  # (N, D_b) instead of a bias model
    *,
    silent: bool,
) -> Learnt:
    """Leaves torch's generator as it was. Ctrl-C ends it, for there is nothing to go on from."""
    devices = range(torch.cuda.device_count())
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices):
        fabric = make_fabric()
        stages = _Stages(data, fabric, Path(folder), own, silent)
        try:
            source = stages.bias(config, bias_features) if METHODS[config.method].needs_bias_model else None
            method, history = stages.trained(config, data, source, config.method)
        except Stopped:
            raise KeyboardInterrupt from None
    return Learnt(method.cpu().eval(), history, source.quality if source else {})


@dataclass(frozen=True)
class _Stages:
    data: BiasedDataset
    fabric: Fabric
    folder: Path
    own: OwnModule | None
    silent: bool

    def trained(
        self, config: RunConfig, data: BiasedDataset, source: BiasSource | None, label: str
    ) -> tuple[Method, list[dict[str, Any]]]:
        assert config.seed is not None
        torch.manual_seed(config.seed)
        method = self._built(config, data)
        run = Run(self.folder / label, lasting=False)
        state = fit(method, config, data, self.fabric, run, source, label=label, silent=self.silent)
        return method, state.history

    def bias(self, config: RunConfig, given: np.ndarray | None) -> BiasSource:
        """The bias model of a run: given as features, or trained first."""
        stage = config.stage_one()
        assert stage is not None
        network = None
        if given is None:
            model, _ = self.trained(stage, self.data.with_target(stage.target), None, "bias model")
            output = Output(*infer(model, self.data, self.fabric, torch.arange(len(self.data))))
            network = Frozen(model.net)
        else:
            unknown = torch.zeros(len(given), self.data.task.num_classes)  # logits of a model that we do not have
            output = Output(*(part.to(self.fabric.device) for part in (unknown, torch.from_numpy(given))))
        quality = judged(output, self.data, stage, config, trained=network is not None).numbers
        live = network is not None and config.train.bias_features == "live"
        return BiasSource(network, None if live else output, quality)

    def _built(self, config: RunConfig, data: BiasedDataset) -> Method:
        """With a network by name, or around the user's module, tried on the first rows."""
        if self.own is None or config.net in NETS:
            return build_method(config, data.task)
        method: Any = METHODS[config.method]
        (example,) = inputs_of(data, self.fabric.device)(torch.arange(min(2, len(data))))
        net = adapt(self.own.module, method.num_logits(data.task), self.own.features, example=example)
        built: Any = method(net, data.task, **config.method_options)
        ready: Method = built.to(memory_format=torch.channels_last)
        return ready
