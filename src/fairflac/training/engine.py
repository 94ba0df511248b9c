"""The training loop: epochs, steps, checkpoints, and stopping without losing anything."""

import logging
import math
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.config.run_config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.batches import epoch_batches
from fairflac.errors import Diverged, Stopped, UserError
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.metrics import summary
from fairflac.metrics.selection import RULES
from fairflac.runs.directory import Run
from fairflac.system import checkpoint
from fairflac.system.hardware import best_device, synchronise
from fairflac.system.progress import meter, stop_requests
from fairflac.training.evaluate import collapse_advice, predictions
from fairflac.training.history import HistoryLog
from fairflac.training.optimise import Optimisation
from fairflac.training.processes import end_together
from fairflac.types import Batch

# Between two checkpoints: inside an epoch, and at the end of one. What a killed run has to do again costs no more, and
# epochs of a tenth of a second, as those of a head on embeddings, are not spent on writing.
CHECKPOINT_SECONDS, EPOCH_CHECKPOINT_SECONDS = 300.0, 1.0
logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # what it does is ours to tell


def make_fabric(precision: str = "32-true", devices: int = 1, num_nodes: int = 1) -> Fabric:
    """Device, processes and the precision of training; launched, so that collectives work from here on."""
    several = devices * num_nodes > 1
    if several:
        end_together()
    fabric = Fabric(
        accelerator=best_device(),
        devices=devices,
        num_nodes=num_nodes,
        strategy="ddp" if several else "auto",
        precision=precision,  # type: ignore[arg-type]
    )
    fabric.launch()
    return fabric


class BatchSource(Protocol):
    """The training set, as batches."""

    def __call__(self, index: Tensor, epoch: int) -> Batch: ...

    def ahead(self, batches: Sequence[Tensor]) -> Generator[Tensor]: ...

    def unaugmented(self) -> Iterable[Batch]: ...


def in_precision(fabric: Fabric, precision: str) -> Fabric:
    """The same processes with another precision: every run has its own."""
    if fabric.strategy.precision.precision == precision:
        return fabric
    nodes: int = getattr(fabric.strategy, "num_nodes", 1)
    return make_fabric(precision, fabric.world_size // nodes, nodes)


def generator_states(device: torch.device) -> dict[str, Tensor]:
    """Of everything that a step may draw from: the processor's generator, and that of a GPU."""
    return {kind: _of(kind).get_rng_state() for kind in dict.fromkeys(("cpu", device.type))}


def set_generators(states: dict[str, Tensor]) -> None:
    """Those of a device that is not here have nothing to go on with."""
    for kind, state in states.items():
        if kind in ("cpu", best_device()):
            _of(kind).set_rng_state(state.clone())  # of a row of a table torch 2.13 reads past its end


def _of(kind: str) -> Any:
    return torch if kind == "cpu" else getattr(torch, kind)


@dataclass
class TrainingState:
    """Where training stands. Everything here goes into the checkpoint."""

    epoch: int = 0  # finished epochs
    step: int = 0  # finished steps of the epoch that runs
    seconds: float = 0.0
    sums: dict[str, Tensor] = field(default_factory=dict)  # logged values of this epoch, not yet divided by `step`
    history: list[dict[str, Any]] = field(default_factory=list)
    best: float | None = None  # score of best.pt under the selection rule


class Training:
    """One method on one training set, from wherever it stands to its last epoch."""

    def __init__(
        self,
        method: Method,
        batch_of: BatchSource,
        samples: int,
        config: RunConfig,
        fabric: Fabric,
        run: Run,
        validation: BiasedDataset | None = None,
        log: HistoryLog | None = None,
    ) -> None:
        self.method, self.batch_of, self.samples = method, batch_of, samples
        self.config, self.fabric, self.run, self.validation = config, fabric, run, validation
        self.optimisation = Optimisation(method, config.train, fabric)
        self.rule = RULES[config.train.selection]
        self.state, self.log = TrainingState(), log or HistoryLog(run)
        self.said: set[str] = set()
        self.notice: str | None = None  # about a resumed run

    def fit(self, label: str, silent: bool = False, opening: str | None = None) -> TrainingState:
        """Train to the end, after the words of `opening`; raises Stopped after a signal, with everything saved."""
        if self.run.last.exists():
            self._restore(checkpoint.load(self.run.last))
        epochs, per_epoch = self.config.train.epochs, len(self._batches(0))
        state, done = self.state, self.state.epoch * per_epoch + self.state.step
        silent = silent or not self.fabric.is_global_zero
        with stop_requests() as stop, meter(label, epochs * per_epoch, done=done, silent=silent) as bar:
            self.clock = self.saved = time.monotonic()
            self.method.train()
            for words in filter(None, (self.notice, opening)):
                bar.say(f"{label}: {words}")
            while state.epoch < epochs:
                bar.note(f"epoch {state.epoch + 1}/{epochs}")
                self.method.begin_epoch(state.epoch, self.batch_of.unaugmented())
                with closing(self.batch_of.ahead(self._batches(state.epoch)[state.step :].unbind())) as batches:
                    for index in batches:
                        self._step(index)
                        bar.advance()
                        self._maybe_save(stop)
                advice = self._end_epoch()
                if advice is not None and advice not in self.said:  # once is enough
                    self.said.add(advice)
                    bar.say(f"{label}: {advice}")
            if stop.is_set():
                raise Stopped("stopped after the last epoch; start it again to evaluate the model")
        if not epochs:
            self._save(self.run.last)  # weights from a file, as they are
        if self.fabric.is_global_zero:
            self.log.write(state.history)  # again, for a process that died between checkpoint and history
        return state

    def _batches(self, epoch: int) -> Tensor:
        fabric, train = self.fabric, self.config.train
        seed = self.config.seed or 0
        rank, world = fabric.global_rank, fabric.world_size
        return epoch_batches(
            self.samples,
            train.batch_size,
            seed=seed,
            epoch=epoch,
            rank=rank,
            world=world,
            weights=self.method.sample_weights(),
            paired=self.method.paired_sampling(),
        )

    def _step(self, index: Tensor) -> None:
        with self.fabric.autocast():
            logs = self.method.step(self.batch_of(index, self.state.epoch), self.optimisation)
        sums = self.state.sums  # stays on the device: reading a value here would wait for it
        self.state.sums = {name: value + sums.get(name, 0) for name, value in logs.items()}
        self.state.step += 1

    def _end_epoch(self) -> str | None:
        """Mean logs, validation, checkpoints; returns what there is to advise."""
        state, fabric = self.state, self.fabric
        means = self._means()
        self._share_buffers()
        entry: dict[str, Any] = {"epoch": state.epoch + 1, "lr": self.optimisation.lr, **means}
        score = collapse = None
        if self.validation is not None:
            table = predictions(self.method, self.validation, fabric)
            entry["validation"] = summary(table)
            collapse = collapse_advice(table, "validation")
            score = self.rule(table) if self.rule else None
        self.optimisation.end_epoch()
        self._tick()
        state.epoch, state.step, state.sums = state.epoch + 1, 0, {}
        state.history.append({**entry, "seconds": round(state.seconds, 2)})
        if score is not None and (state.best is None or score > state.best):
            state.best = score
            self._save(self.run.best)
        due = self._since_saved > EPOCH_CHECKPOINT_SECONDS or not self.run.last.exists()
        if any(self._agreed(due, state.epoch == self.config.train.epochs)):
            self._save(self.run.last)
        if fabric.is_global_zero:
            self.log.write(state.history)
        return collapse or self.method.advice(means)

    def _means(self) -> dict[str, float]:
        """Of this epoch's logs, over all processes. A value that is not finite ends the run, with nothing saved."""
        state = self.state
        means = {name: float(gather((total / state.step)[None]).mean()) for name, total in state.sums.items()}
        for name, value in means.items():
            if not math.isfinite(value):
                raise Diverged(
                    f"{self.run.path}: {name} became {value} in epoch {state.epoch + 1}: "
                    "lower lr or alpha, or set clip_norm; the checkpoint from before is kept"
                )
        return means

    def _share_buffers(self) -> None:
        """BatchNorm statistics are kept per process; what is evaluated and saved is their mean."""
        if self.fabric.world_size > 1:
            for buffer in self.method.buffers():
                if buffer.is_floating_point():
                    buffer.copy_(gather(buffer.detach()[None]).mean(0))

    def _maybe_save(self, stop: threading.Event) -> None:
        stopping, due = self._agreed(stop.is_set(), self._since_saved > CHECKPOINT_SECONDS)
        if not (stopping or due):
            return
        self._means()
        self._share_buffers()
        self._tick()
        self._save(self.run.last)
        if stopping:
            raise Stopped(f"stopped in epoch {self.state.epoch + 1}; start it again to go on from here")

    def _agreed(self, *wishes: bool) -> list[bool]:
        """What any process wishes: all stop and save at the same step."""
        if self.fabric.world_size == 1:
            return list(wishes)
        return gather(torch.tensor([wishes], device=self.fabric.device)).any(0).tolist()

    @property
    def _since_saved(self) -> float:
        return time.monotonic() - self.saved

    def _tick(self) -> None:
        synchronise(self.fabric.device)
        now = time.monotonic()
        self.state.seconds += now - self.clock
        self.clock = now

    def _save(self, path: Any) -> None:
        random = {
            name: gather(state[None].to(self.fabric.device)).cpu()  # one row per process
            for name, state in generator_states(self.fabric.device).items()
        }
        if self.fabric.is_global_zero:
            content = {
                "config": self.config.model_dump(mode="json"),
                "task": self.method.spec.to_dict(),
                "method": self.method.state_dict(),
                "optimisation": self.optimisation.state_dict(),
                "state": asdict(self.state),
                "random": random.pop("cpu"),
                "device_random": random,
                "precision": self.fabric.strategy.precision.precision,
                "scaler": self.fabric.strategy.precision.state_dict(),
            }
            checkpoint.save(path, content)
        self.fabric.barrier()
        if path == self.run.last:
            self.saved = time.monotonic()

    def _restore(self, content: dict[str, Any]) -> None:
        try:
            if content["config"] != self.config.model_dump(mode="json"):
                raise ValueError("another config")
            self.method.load_state_dict(content["method"])
            self.optimisation.load_state_dict(content["optimisation"])
            self.state = TrainingState(**content["state"])
            self.state.sums = {name: total.to(self.fabric.device) for name, total in self.state.sums.items()}
            # With another number of processes the rows differ; any of them is a valid state to go on from.
            rank, random = self.fabric.global_rank, {"cpu": content["random"], **content.get("device_random", {})}
            set_generators({name: rows[rank % len(rows)] for name, rows in random.items()})
            precision = self.fabric.strategy.precision
            if content["precision"] == precision.precision:
                precision.load_state_dict(content["scaler"])
            else:
                self.notice = (
                    f"begun in {content['precision']}, goes on in {precision.precision}: not the same bit for bit"
                )
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise UserError(f"'{self.run.last}' does not belong to this run: delete it to start anew") from error
