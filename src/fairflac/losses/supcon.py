"""Supervised contrastive loss, with optional soft weights of the positive pairs."""

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
