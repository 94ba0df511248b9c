"""What the formulas ask of torch and numpy alike.

On the CPU numpy takes half the time for all but matrix products and scattering: a call costs less, and comparing or
searching a million elements takes torch ten times as long.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

# A Tensor or an ndarray, of which only is asked what both know under the same name.
Array: TypeAlias = Any


def namespace(x: Array) -> Any:
    """The module whose functions fit `x`."""
    return torch if isinstance(x, Tensor) else np


def as_tensor(x: Array) -> Tensor:
    """The same memory as a Tensor."""
    return x if isinstance(x, Tensor) else torch.from_numpy(x)


def row_products(a: Array, b: Array) -> Array:
    """(N, D), (N, D) → (N,)."""
    return (a * b).sum(1) if isinstance(a, Tensor) else np.vecdot(a, b)


def to_host(scalars: Sequence[Array]) -> list[float]:
    """All at once, to wait for the device once."""
    values: list[float] = torch.stack([*scalars]).tolist() if isinstance(scalars[0], Tensor) else [*map(float, scalars)]
    return values
