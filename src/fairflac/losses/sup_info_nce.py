"""Supervised contrastive loss with a margin between positives and negatives."""

import torch
import torch.nn.functional as F
from torch import Tensor


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
