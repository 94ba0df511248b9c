"""What a training writes down as it goes: metrics.jsonl always, TensorBoard's event files where it is installed."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from fairflac.runs.directory import (Run)


class HistoryLog:
    """One entry per finished epoch."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.shown = 0  # epochs that are in the event file of this process
        self.writer: Any = None

    def write(self, history: list[dict[str, Any]]) -> None:
        """The whole history; a run that goes on shows its first epochs anew, and TensorBoard drops the old ones."""
        self.run.write_history(history)
        if not self.run.lasting or find_spec("tensorboard") is None or len(history) == self.shown:
            return
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(self.run.path / "tensorboard", purge_step=1)
        for entry in history[self.shown :]:
            for name, value in _flat(entry):
                self.writer.add_scalar(name, value, entry["epoch"])
        self.writer.flush()
        self.shown = len(history)


def _flat(entry: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """`validation/unbiased` for what is nested."""
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}/")
        elif name != "epoch":
            yield prefix + name.replace(":", "/"), float(value)
