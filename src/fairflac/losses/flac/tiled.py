"""The loss over masked tiles of the N × N matrix: for devices, and on the CPU where S is too large for a list."""

import torch
from torch import Tensor

from fairflac.losses.flac.problem import PairProblem, Sums, in_s, out_of_reach, pointwise, row_weights
from fairflac.losses.flac.textbook import ROW_EPS, TINY
from fairflac.system.hardware import finest_float


def tiled_flac(batch: PairProblem) -> Sums:
    """The loss over all rows, of tensors. Its formulas are those of `listed.py`."""
    features, y, settings = batch.h.rows, batch.y, batch.settings
    gradient, everywhere = torch.zeros_like(features), batch.h.centred
    pull = features.new_zeros(batch.n)  # (N,) Σ_j of the weights of s_ij and s_ji
    sums = torch.zeros(5, dtype=finest_float(y.device), device=y.device)
    for rows in batch.tiles:
        same_class = y[rows, None] == y
        mask = in_s(batch.b.tile(rows), same_class, batch.limits, settings.pairs)
        mask.view(-1)[rows.start :: batch.n + 1] = False  # a sample with itself
        partners, same = mask.sum(1), (mask & same_class).sum(1)
        factors = None
        if settings.balanced_rows:
            counts = (count.to(features.dtype) for count in (same, partners - same))
            factors = torch.where(same_class, 1, row_weights(*counts)[:, None])
        value, weights, far = _tile(batch, rows, mask, factors)
        pull[rows] += weights.sum(1)
        pull += weights.sum(0)
        gradient[rows].addmm_(weights, everywhere, alpha=-1)
        gradient.addmm_(weights.T, everywhere[rows], alpha=-1)
        mixed, single = (same * (partners - same)).count_nonzero(), (partners == 1).count_nonzero()
        sums += torch.stack([value, partners.sum(), mixed, single, far])
    gradient.addcmul_(pull[:, None], everywhere)
    # NaN where something is not finite, see `_check_finite`.
    sums[0] += 0 * (batch.b.squares.sum() + batch.h.squares.sum())
    value, pairs, mixed, single, far = sums
    return Sums(value, pairs, mixed, single, far, gradient)


def _tile(batch: PairProblem, rows: slice, mask: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """() divergence of a tile of rows, (T, N) twice its slope in the squared distances of the trained features, and ()
    how many of its pairs have a target out of reach.
    """

    def inside(values: Tensor) -> Tensor:
        return torch.where(mask, values, 0)

    a = batch.wanted(batch.b.tile(rows).clamp_min_(0)).clamp_min_(TINY)
    k, log_slope = batch.similarity.with_log_slope(batch.h.tile(rows).clamp_min_(0))
    k.clamp_min_(TINY)
    if factors is not None:
        a, k = a * factors, k * factors
    p = a / (inside(a).sum(1, keepdim=True) + ROW_EPS)
    q = k / (inside(k).sum(1, keepdim=True) + ROW_EPS)
    terms, e = pointwise(p, q, batch.settings.divergence)
    e = inside(e)
    in_row = mask.sum(1, keepdim=True) if factors is None else inside(factors).sum(1, keepdim=True) / factors
    far = (out_of_reach(p, in_row, batch.floor) & mask).count_nonzero()
    return inside(terms).sum(), inside((e - q * e.sum(1, keepdim=True)) * (2 * log_slope)), far
