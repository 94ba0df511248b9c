"""The time that the user gave for all of it, and what is left of it. Nothing here imports torch."""

import math
import re
import time
from dataclasses import dataclass, field

from fairflac.errors import UserError

UNITS = {"s": 1, "m": 60, "h": 3600}
ENDING = 20.0  # seconds for predictions, the choice, the model card and the page
RESERVE = 0.1  # of the budget, for what nobody foresees
FEWEST = 4  # epochs, with which a model of very many images is worth having


@dataclass(frozen=True)
class Clock:
    """The time that the user gave, and what is left of it."""

    budget: float | None  # seconds; None: as long as it takes
    start: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """For training; the rest is kept back."""
        if self.budget is None:
            return math.inf
        return self.budget * (1 - RESERVE) - ENDING - self.spent

    def affords(self, epoch_seconds: float, wanted: int) -> int:
        """How many epochs: those that were planned, or fewer, but not so few that a model is not worth having."""
        if wanted * epoch_seconds <= (left := self.left):
            return wanted
        return min(max(int(left / max(epoch_seconds, 1e-3)), FEWEST), wanted)

    def __str__(self) -> str:
        if self.budget is None:
            return f"took {minutes(self.spent)}"
        unit = 60 if self.budget >= 120 else 1
        took = f"{self.spent / unit:.1f}".removesuffix(".0") if unit == 60 else f"{self.spent:.0f}"
        return f"took {took} of {self.budget / unit:g} {'minutes' if unit == 60 else 'seconds'}"


def parse_budget(text: str) -> float:
    """`90s`, `10m`, `1.5h` → seconds."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh])\s*", text)
    if not found or not 0 < float(found[1]) < math.inf:
        raise UserError(f"--budget {text}: give a time such as 90s, 10m or 2h")
    return float(found[1]) * UNITS[found[2]]


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
