"""Generalised cross-entropy: counts the samples that are easy for the model, and lets go of the hard ones."""

import torch.nn.functional as F
from torch import Tensor


def gce_loss(logits: Tensor, y: Tensor, q: float = 0.7) -> Tensor:
    """(B,) losses (1 - p_y^q) / q of Zhang and Sabuncu, NeurIPS 2018, Eq. 6; q → 0 is cross-entropy, q = 1 is MAE.

    Its gradient is p_y^q times that of cross-entropy, so that a model follows what it finds easy: the shortcut.
    """
    log_p = -F.cross_entropy(logits.float(), y, reduction="none")
    return (1 - (q * log_p).exp()) / q
