"""FLAC against several attributes at once, each with features of its own bias model (ours; the paper has one)."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

Combine = Literal["sum", "max", "joint"]


def check_combine(combine: str) -> None:
    if combine not in get_args(Combine):
        raise ValueError(f"combine must be one of {', '.join(get_args(Combine))}, not {combine!r}")


def told_apart(bias: Tensor | Sequence[Tensor], combine: Combine, *, normalize: bool) -> tuple[Tensor, ...]:
    """(N, D_b) of each bias model → the matrices that have a loss each: as many, or with `joint` a single one."""
    several = (bias,) if isinstance(bias, Tensor) else tuple(bias)
    if combine != "joint" or len(several) == 1:
        return several
    return (torch.cat([F.normalize(one, dim=1) if normalize else one for one in several], 1),)


def combined(values: Sequence[Tensor], combine: Combine) -> Tensor:
    """() losses of all attributes → () the loss."""
    if len(values) == 1:
        return values[0]
    together = torch.stack(list(values))
    return together.max() if combine == "max" else together.sum()


def numbered(stats: Sequence[dict[str, Tensor | float]]) -> dict[str, Tensor | float]:
    """What is logged of each attribute: under its name of the first one, and as `pairs_2` of the second."""
    return {
        name if number == 1 else f"{name}_{number}": value
        for number, each in enumerate(stats, 1)
        for name, value in each.items()
    }
