"""EnD's two regularisers: features of one attribute value spread out, features of one class meet across values."""

import torch
import torch.nn.functional as F
from torch import Tensor


def disentangling_loss(features: Tensor, bias: Tensor) -> Tensor:
    """R_⊥ = Σ_b |Σ_{i<j: b_i = b_j = b} G_ij| / (number of such pairs), G the cosines of the features; 0 without pairs.

    Tartaglione et al., CVPR 2021, Section 3. It is least where features that share an attribute value have nothing in
    common on average.
    """
    cosines, same_bias = _cosines(features), bias[:, None] == bias[None, :]
    pairs = same_bias.triu(1)
    sums = (cosines * pairs).sum(1)  # by the first sample of each pair, whose value is that of the pair
    values, place = bias.unique(return_inverse=True)
    by_value = sums.new_zeros(len(values)).index_add(0, place, sums)
    return by_value.abs().sum() / pairs.sum().clamp_min(1)


def entangling_loss(features: Tensor, y: Tensor, bias: Tensor) -> Tensor:
    """R_∥ = 1 - mean (1 + G_ij) / 2 over all pairs of one class and two attribute values; 0 without pairs.

    Tartaglione et al., CVPR 2021, Section 3. It is least where a class looks the same whatever the attribute is.
    """
    pairs = (y[:, None] == y[None, :]) & (bias[:, None] != bias[None, :])  # each pair twice, which its mean ignores
    return ((1 - _cosines(features)) / 2 * pairs).sum() / pairs.sum().clamp_min(1)


def _cosines(features: Tensor) -> Tensor:
    with torch.autocast(features.device.type, enabled=False):
        z = F.normalize(features if features.dtype == torch.float64 else features.float())
        return z @ z.T
