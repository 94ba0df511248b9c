"""FLAC's loss over masked tiles: where S is large, and on devices that would have to wait for a list of pairs."""

import torch
from torch import Tensor

from fairflac.losses.flac.batch import Batch, Result
from fairflac.losses.flac.divergences import pointwise
from fairflac.losses.flac.pairs import in_s
from fairflac.losses.flac.settings import ROW_EPS, TINY, Settings


def tiled_flac(bias: Tensor, features: Tensor, y: Tensor, settings: Settings) -> Result:
    """(N, D_b), (N, D), (N,) → the loss over all rows. Its formulas are those of `listed_flac`."""
    batch = Batch(bias, features, y, settings)
    gradient, everywhere = torch.zeros_like(features), batch.h.centred
    sums = features.new_zeros(4)
    for rows in batch.tiles:
        same_class = y[rows, None] == y
        mask = in_s(batch.b.tile(rows), same_class, batch.limits, settings.pairs)
        mask.view(-1)[rows.start :: batch.n + 1] = False  # a sample with itself
        value, weights = _tile(batch, rows, mask)
        here = everywhere[rows]
        gradient[rows].addcmul_(weights.sum(1)[:, None], here).addmm_(weights, everywhere, alpha=-1)
        gradient.addcmul_(weights.sum(0)[:, None], everywhere).addmm_(weights.T, here, alpha=-1)
        partners, same = mask.sum(1), (mask & same_class).sum(1)
        mixed, single = (same * (partners - same)).count_nonzero(), (partners == 1).count_nonzero()
        sums += torch.stack([value, partners.sum(), mixed, single])
    value, pairs, mixed, single = sums
    return batch.result(value, gradient, pairs, mixed, single)


def _tile(batch: Batch, rows: slice, mask: Tensor) -> tuple[Tensor, Tensor]:
    """() divergence of a tile of rows, and (T, N) twice its slope in the squared distances of the trained features."""

    def inside(values: Tensor) -> Tensor:
        return torch.where(mask, values, 0)

    a = (1 - batch.similarity.of(batch.b.tile(rows).clamp_min_(0))).clamp_min_(TINY)
    k, log_slope = batch.similarity.with_log_slope(batch.h.tile(rows).clamp_min_(0))
    k.clamp_min_(TINY)
    p = a / (inside(a).sum(1, keepdim=True) + ROW_EPS)
    q = k / (inside(k).sum(1, keepdim=True) + ROW_EPS)
    terms, e = pointwise(p, q, batch.settings.divergence)
    e = inside(e)
    return inside(terms).sum(), inside((e - q * e.sum(1, keepdim=True)) * (2 * log_slope))
