"""The engine's side of `minimise`: gradients, averaging, clipping, optimiser steps and learning-rate schedules."""

import warnings
from typing import Any, cast

import torch
from lightning_fabric import Fabric
from lightning_fabric.wrappers import _FabricOptimizer
from torch import Tensor, nn
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler, MultiStepLR

from fairflac.config.run_config import TrainConfig
from fairflac.methods.base import Method


def make_schedule(optimiser: torch.optim.Optimizer, config: TrainConfig) -> LRScheduler:
    """Stepped once per epoch. `multistep`: x 0.1 at a third and two thirds of the epochs (paper, Section 4.4)."""
    epochs = config.epochs
    if config.schedule == "multistep":
        milestones = {max(1, epochs // 3), max(1, 2 * epochs // 3)}  # the first epoch always has the full rate
        return MultiStepLR(optimiser, sorted(milestones), gamma=0.1)
    if config.schedule == "cosine":
        return CosineAnnealingLR(optimiser, T_max=epochs)
    return ConstantLR(optimiser, factor=1.0)


class Optimisation:
    """One Adam for each parameter group of a method; calling it is `minimise`."""

    def __init__(self, method: Method, config: TrainConfig, fabric: Fabric) -> None:
        self.fabric = fabric
        self.clip_norm = config.clip_norm
        self.groups: dict[str, list[nn.Parameter]] = {
            name: [p for p in group if p.requires_grad]  # a part of a network may be frozen
            for name, group in method.parameter_groups().items()
        }
        plain = {
            name: torch.optim.Adam(parameters, lr=config.lr, weight_decay=config.weight_decay, fused=True)
            for name, parameters in self.groups.items()
        }
        self.schedules = {name: make_schedule(optimiser, config) for name, optimiser in plain.items()}
        self.optimisers = {name: cast(_FabricOptimizer, fabric.setup_optimizers(o)) for name, o in plain.items()}

    def __call__(self, loss: Tensor, *groups: str) -> None:
        """Update the named groups, or all. No other parameter receives a gradient."""
        names = groups or tuple(self.groups)
        parameters = [p for name in names for p in self.groups[name]]
        for name in names:
            self.optimisers[name].zero_grad(set_to_none=True)
        with torch.autocast(loss.device.type, enabled=False):
            self.fabric.backward(loss, inputs=parameters)
        self._average(parameters)
        for name in names:
            if self.clip_norm is not None:
                holder = nn.ParameterList(self.groups[name])
                self.fabric.clip_gradients(holder, self.optimisers[name], max_norm=self.clip_norm)
            self.optimisers[name].step()
        torch.clear_autocast_cache()  # low-precision copies of the old weights must not serve a second forward

    def _average(self, parameters: list[nn.Parameter]) -> None:
        """Mean over processes in one message, instead of a wrapper around each network."""
        if self.fabric.world_size == 1:
            return
        reached = [p for p in parameters if p.grad is not None]  # the same on all processes: they run the same step
        flat = torch.cat([p.grad.flatten() for p in reached if p.grad is not None])
        mean = self.fabric.all_reduce(flat, reduce_op="mean")
        assert isinstance(mean, Tensor)
        for parameter, part in zip(reached, mean.split([p.numel() for p in reached]), strict=True):
            # In the parameter's own memory layout: the fused Adam walks both side by side.
            parameter.grad = torch.empty_like(parameter).copy_(part.view_as(parameter))

    def end_epoch(self) -> None:
        with warnings.catch_warnings():  # a method may let a group wait for its turn; the schedule does not wait
            warnings.filterwarnings("ignore", "Detected call of `lr_scheduler.step", UserWarning)
            for schedule in self.schedules.values():
                schedule.step()

    @property
    def lr(self) -> float:
        return float(next(iter(self.schedules.values())).get_last_lr()[0])

    def state_dict(self) -> dict[str, Any]:
        return {
            "optimisers": {name: optimiser.state_dict() for name, optimiser in self.optimisers.items()},
            "schedules": {name: schedule.state_dict() for name, schedule in self.schedules.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(state["optimisers"][name])
        for name, schedule in self.schedules.items():
            schedule.load_state_dict(state["schedules"][name])
