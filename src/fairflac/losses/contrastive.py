"""Losses on the similarities of a batch: supervised contrastive ones, and the regularisers of EnD and FairKL."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.system.hardware import finest_float


def supcon_loss(features: Tensor, y: Tensor, *, temperature: float = 0.07, weights: Tensor | None = None) -> Tensor:
    """Supervised contrastive loss: samples of a class attract each other, all others repel.

    L_out of Khosla et al., NeurIPS 2020, Eq. 2, on features that are brought to unit length. For anchor i with
    similarities s_ij = z_i · z_j / temperature,

        L_i = - Σ_p w_ip (s_ip - log Σ_{j ≠ i} exp s_ij) / Σ_p w_ip

    over its positives p, the other samples of its class. An anchor without positives (or with none of any weight)
    contributes 0. Under autocast the loss is computed in fp32.

    Args:
        features: (N, D).
        y: (N,) classes.
        temperature: divides the similarities.
        weights: (N, N) w; 1 if not given.

    Returns:
        () the mean of L_i over all N anchors.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> supcon_loss(z, torch.tensor([0, 1, 0, 1]), temperature=1.0)
        tensor(0.5514)
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
    """How far two samples differ in the attribute, as a bias model sees it: 1 - cos(b_i, b_j).

    Weights of SoftCon (Hong and Yang, NeurIPS 2021). Exactly 0 for equal rows; a row of zeros is 1/2 away from others.

    Args:
        bias_features: (N, D_b); no gradients flow to them.

    Returns:
        (N, N).

    Example:
        >>> bias_dissimilarity(torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])).round(decimals=4)
        tensor([[0., 0., 1.],
                [0., 0., 1.],
                [1., 1., 0.]])
    """
    with torch.autocast(bias_features.device.type, enabled=False):
        unit = F.normalize(bias_features.detach().float(), dim=1)
        # Half the squared distance of unit rows, without the cancellation of 1 - cos near 0.
        apart: Tensor = torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist").square() / 2
        return apart


def class_dissimilarity(bias_features: Tensor, y: Tensor) -> Tensor:
    """How unusual the attribute of a sample is in its class: the mean of 1 - cos(b_i, b_j) over the class of i.

    Sampling weights of SoftCon (Hong and Yang, NeurIPS 2021). The mean of dot products is the dot product with the
    mean, so the cost grows with N and not with N².

    Args:
        bias_features: (N, D_b) of all samples; no gradients flow to them.
        y: (N,) classes.

    Returns:
        (N,) in float64 (float32 on Apple's GPUs).

    Example:
        >>> class_dissimilarity(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), torch.tensor([0, 0, 1])).tolist()
        [0.5, 0.5, 0.0]
    """
    unit = F.normalize(bias_features.detach().to(finest_float(y.device)), dim=1)
    sums = unit.new_zeros(int(y.max()) + 1, unit.shape[1]).index_add(0, y, unit)
    means = sums / y.bincount()[:, None].clamp_min(1)
    return 1 - (unit * means[y]).sum(1)


def disentangling_loss(features: Tensor, bias: Tensor) -> Tensor:
    """EnD's disentangling term: features that share an attribute value should have nothing in common on average.

    Tartaglione et al., CVPR 2021, Section 3. With G the cosines of the features,

        R_⊥ = Σ_b |Σ_{i<j: b_i = b_j = b} G_ij| / (number of such pairs).

    Args:
        features: (N, D).
        bias: (N,) attribute values.

    Returns:
        () R_⊥; 0 where no two samples share a value.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> disentangling_loss(z, torch.tensor([0, 1, 0, 1])), disentangling_loss(z, torch.tensor([0, 0, 1, 1]))
        (tensor(1.), tensor(0.))
    """
    cosines, same_bias = _cosines(features), bias[:, None] == bias[None, :]
    pairs = same_bias.triu(1)
    sums = (cosines * pairs).sum(1)  # by the first sample of each pair, whose value is that of the pair
    # (N,) the sum of each sample's value, in equal parts: to ask which values there are would be to wait for a device.
    by_sample = (same_bias * sums).sum(1) / same_bias.sum(1)
    return by_sample.abs().sum() / pairs.sum().clamp_min(1)


def entangling_loss(features: Tensor, y: Tensor, bias: Tensor) -> Tensor:
    """EnD's entangling term: a class should look the same whatever the attribute is.

    Tartaglione et al., CVPR 2021, Section 3. With G the cosines of the features,

        R_∥ = 1 - mean (1 + G_ij) / 2

    over all pairs of one class and two attribute values.

    Args:
        features: (N, D).
        y: (N,) classes.
        bias: (N,) attribute values.

    Returns:
        () R_∥; 0 without such pairs.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> entangling_loss(z, y=torch.tensor([0, 0, 1, 1]), bias=torch.tensor([0, 1, 0, 1]))
        tensor(0.5000)
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
    """FairKL: similarities of aligned and of conflicting pairs should be distributed alike.

    Barbano et al., ICLR 2023, on features that are brought to unit length. Each pair of two samples counts with
    `aligned` among the aligned pairs (a) and with the rest among the conflicting ones (c), apart for positives (p, of
    the same class) and negatives (n). With the means mu and deviations sd of their similarities

        R = (mu_pc - mu_pa)² + (mu_na - mu_nc)² + kld [(sd_pa - sd_pc)² + (sd_na - sd_nc)²] - mu_pc + mu_na

    as in the authors' code: a sample and itself are an aligned positive pair, sd is the standard deviation of all N²
    similarities with 0 for pairs of another kind, and a kind without pairs has mu = sd = 0, so that the other kind is
    still drawn there.

    Args:
        features: (N, D).
        y: (N,) classes.
        aligned: (N, N) how far two samples share the attribute: 1 or 0 by labels, or between by a bias model.
        kld: weight of the deviations.
        pairs: (N, N) mask; other pairs count in no kind.

    Returns:
        () R.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> bias = torch.tensor([0, 0, 1, 1])
        >>> fairkl_loss(z, torch.tensor([0, 1, 0, 1]), bias[:, None] == bias)
        tensor(-1.)
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
    """epsilon-SupInfoNCE: a supervised contrastive loss with a margin.

    Barbano et al., ICLR 2023, on features that are brought to unit length. For anchor i with similarities
    s_ij = z_i · z_j / temperature,

        L_i = - mean_p log [ exp s_ip / (exp(s_ip - epsilon) + Σ_n exp s_in) ]

    over its positives p, the other samples of its class; n runs over the samples of other classes. Other positives are
    not in the denominator. An anchor without positives contributes 0. Under autocast the loss is computed in fp32.

    Args:
        features: (N, D).
        y: (N,) classes.
        temperature: divides the similarities.
        epsilon: the margin.

    Returns:
        () the mean of L_i over all N anchors.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> sup_info_nce(z, torch.tensor([0, 1, 0, 1]), temperature=1.0)
        tensor(0.5514)
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
