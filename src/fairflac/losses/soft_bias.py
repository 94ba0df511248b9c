"""How differently a bias model sees two samples: soft labels of the attribute, where nobody gave hard ones."""

import torch
import torch.nn.functional as F
from torch import Tensor


def bias_dissimilarity(bias_features: Tensor) -> Tensor:
    """(N, D_b) → (N, N) with 1 - cos(b_i, b_j), exactly 0 for equal rows; a row of zeros is 1/2 away from others."""
    with torch.autocast(bias_features.device.type, enabled=False):
        unit = F.normalize(bias_features.detach().float(), dim=1)
        # Half the squared distance of unit rows, without the cancellation of 1 - cos near 0.
        apart: Tensor = torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist").square() / 2
        return apart


def class_dissimilarity(bias_features: Tensor, y: Tensor) -> Tensor:
    """(N, D_b), (N,) → (N,) mean of 1 - cos(b_i, b_j) over all samples j of the class of i.

    The mean of dot products is the dot product with the mean, so its cost grows with N and not with N².
    """
    unit = F.normalize(bias_features.detach().double(), dim=1)
    sums = unit.new_zeros(int(y.max()) + 1, unit.shape[1]).index_add(0, y, unit)
    means = sums / y.bincount()[:, None].clamp_min(1)
    return 1 - (unit * means[y]).sum(1)
