"""The members of the loss family."""

from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from fairflac.losses.flac.divergences import Divergence
from fairflac.losses.flac.kernels import Kernel
from fairflac.losses.flac.pairs import Pairs, Threshold

# Of the sum over S: divided by |S|, not divided (the paper), or divided by the number of samples, so that one weight
# suits batches with few and with many pairs.
Reduction = Literal["mean", "sum", "batch"]

# In both denominators, as in the released code.
ROW_EPS = 1e-7
# Least similarity and dissimilarity, so that logs stay finite: the smallest normal number of fp32.
TINY = 2.0**-126


class Options(TypedDict, total=False):
    """What may be chosen, see `FLACLoss`."""

    kernel: Kernel
    exponent: float
    divergence: Divergence
    pairs: Pairs
    threshold: Threshold
    reduction: Reduction
    normalize: bool
    gather: bool


@dataclass(frozen=True)
class Settings:
    """A full set of options, checked."""

    kernel: Kernel
    exponent: float
    divergence: Divergence
    pairs: Pairs
    threshold: Threshold
    reduction: Reduction
    normalize: bool

    def __post_init__(self) -> None:
        choices = {
            "kernel": Kernel,
            "divergence": Divergence,
            "pairs": Pairs,
            "threshold": Threshold,
            "reduction": Reduction,
        }
        for argument, allowed in choices.items():
            if getattr(self, argument) not in get_args(allowed):
                names = ", ".join(get_args(allowed))
                raise ValueError(f"{argument} must be one of {names}, not {getattr(self, argument)!r}")
        if not self.exponent > 0:
            raise ValueError(f"exponent must be positive, not {self.exponent}")
