"""Losses on the similarities of a batch: supervised contrastive ones, and the regularisers of EnD and FairKL."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


def supcon_loss(features: Tensor, y: Tensor, *, temperature: float = 0.07, weights: Tensor | None = None) -> Tensor:
    """L_out of Khosla et al., NeurIPS 2020, Eq. 2, on features that are brought to unit length.

    For anchor i with similarities s_ij = z_i · z_j / temperature,

        L_i = - Σ_p w_ip (s_ip - log Σ_{j ≠ i} exp s_ij) / Σ_p w_ip

    over its positives p, the other samples of its class; w is 1, or `weights` (N, N) where given. An anchor without
    positives (or with none of any weight) contributes 0. The mean is over all N anchors. Under autocast it is computed
    in fp32.
    """
    with torch.autocast(features.device.type, enabled=False):
        z = F.normalize(features if features.dtype == torch.float64 else features.float(), dim=1)
        itself = torch.eye(len(y), dtype=torch.bool, device=y.device)
        similarity = (z @ z.T / temperature).masked_fill(itself, -torch.inf)
        log_share = similarity - similarity.logsumexp(1, keepdim=True)
        positive = ((y[:, None] == y[None, :]) & ~itself).to(z.dtype)
        if weights is not None:
            positive = positive * weights.to(z.dtype)
        total = positive.sum(1)
        # Where there is no weight the log share may be -inf, and 0 · inf is not 0.
        pulled = torch.where(positive > 0, positive * log_share, 0).sum(1)
        return -(pulled / total.clamp_min(torch.finfo(z.dtype).tiny)).mean()


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


LEAST_VARIANCE = 1e-12  # below it a spread is rounding, and its root has no slope


class Spread(NamedTuple):
    """Of the similarities of one kind of pairs; both are 0 where there is none."""

    mean: Tensor
    std: Tensor


def fairkl_loss(
    features: Tensor, y: Tensor, aligned: Tensor, *, kld: float = 1.0, pairs: Tensor | None = None
) -> Tensor:
    """(N, D), (N,), (N, N) → scalar, on features that are brought to unit length.

    `aligned` says how far two samples share the attribute: 1 or 0 by labels, or anything between by a bias model. Each
    pair of two samples counts with `aligned` among the aligned pairs (a) and with the rest among the conflicting ones
    (c), apart for positives (p, of the same class) and negatives (n). With their means mu and deviations sd

        R = (mu_pc - mu_pa)² + (mu_na - mu_nc)² + kld [(sd_pa - sd_pc)² + (sd_na - sd_nc)²] - mu_pc + mu_na

    as in the authors' code: a sample and itself are an aligned positive pair, sd is the standard deviation of all N²
    similarities with 0 for pairs of another kind, and a kind without pairs has mu = sd = 0, so that the other kind is
    still drawn there. Pairs that are not in the mask `pairs` (N, N) count in no kind.
    """
    with torch.autocast(features.device.type, enabled=False):
        z = F.normalize(features if features.dtype == torch.float64 else features.float(), dim=1)
        similarity, positive = z @ z.T, y[:, None] == y
        aligned = aligned.to(z.dtype)
        counted = torch.ones_like(positive) if pairs is None else pairs
        pa, pc, na, nc = (
            _spread(similarity, torch.where(counted & sign, share, 0))
            for sign in (positive, ~positive)
            for share in (aligned, 1 - aligned)
        )
        return _difference(pc, pa, kld) + _difference(na, nc, kld) - pc.mean + na.mean


def _spread(similarity: Tensor, weights: Tensor) -> Spread:
    """(N, N), (N, N) → the weighted mean, and the standard deviation of all products."""
    shares = weights / weights.sum().clamp_min(torch.finfo(weights.dtype).tiny)
    mean, kept = (shares * similarity).sum(), weights * similarity
    variance = (kept - kept.mean()).square().sum() / max(kept.numel() - 1, 1)
    std = torch.where(variance > LEAST_VARIANCE, variance.clamp_min(LEAST_VARIANCE).sqrt(), 0)
    return Spread(mean, std)


def _difference(a: Spread, b: Spread, kld: float) -> Tensor:
    return (a.mean - b.mean).square() + kld * (a.std - b.std).square()


def sup_info_nce(features: Tensor, y: Tensor, *, temperature: float = 0.1, epsilon: float = 0.0) -> Tensor:
    """epsilon-SupInfoNCE of Barbano et al., ICLR 2023, on features that are brought to unit length.

    For anchor i with similarities s_ij = z_i · z_j / temperature,

        L_i = - mean_p log [ exp s_ip / (exp(s_ip - epsilon) + Σ_n exp s_in) ]

    over its positives p, the other samples of its class; n runs over the samples of other classes. Other positives are
    not in the denominator. An anchor without positives contributes 0. The mean is over all N anchors. Under autocast it
    is computed in fp32.
    """
    with torch.autocast(features.device.type, enabled=False):
        z = F.normalize(features if features.dtype == torch.float64 else features.float(), dim=1)
        same = y[:, None] == y
        positive = same & ~torch.eye(len(y), dtype=torch.bool, device=y.device)
        similarity = z @ z.T / temperature
        # Not -inf: without negatives there would be no sum, and gradients that are not numbers.
        negatives = similarity.masked_fill(same, torch.finfo(z.dtype).min).logsumexp(1, keepdim=True)
        log_ratio = similarity - torch.logaddexp(similarity - epsilon, negatives)
        return -(torch.where(positive, log_ratio, 0).sum(1) / positive.sum(1).clamp_min(1)).mean()
