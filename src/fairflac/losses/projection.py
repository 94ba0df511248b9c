"""Projection over a batch: what is left of some columns when others can no longer explain them."""

import torch
from torch import Tensor

FLOOR = 1e-6  # keeps columns of zeros, and their gradients, finite


def project_out(a: Tensor, g: Tensor, ridge: float = 1e-4) -> Tensor:
    """(N, C), (N, K) → (N, C): (I - G (GᵀG + r I)⁻¹ Gᵀ) A, with r = `ridge` times the mean diagonal of GᵀG.

    Without a ridge this is HEX's projection (Wang et al., ICLR 2019, Section 3), whose inverse does not exist when
    columns of G depend on each other or when the batch has fewer samples than columns. It is computed in fp64 where the
    device has it: what flows back to G is a small difference of large numbers.
    """
    with torch.autocast(a.device.type, enabled=False):
        dtype = torch.float32 if a.device.type == "mps" else torch.float64
        shown = a.dtype if a.dtype == torch.float64 else torch.float32
        a, g = a.to(dtype), g.to(dtype)
        gram = g.T @ g
        r = ridge * gram.diagonal().mean() + FLOOR
        inner = torch.linalg.solve(gram + r * torch.eye(len(gram), dtype=dtype, device=gram.device), g.T @ a)
        rest: Tensor = (a - g @ inner).to(shown)
        return rest
