"""Bias-balanced cross-entropy: what the attribute alone says of the class is added in training and left out later."""

import torch
import torch.nn.functional as F
from torch import Tensor

NEVER = 1e-9  # stands for a probability of 0, so that its log is finite


def class_given_bias(y: Tensor, bias: Tensor, weights: Tensor, *, num_classes: int, num_bias: int) -> Tensor:
    """(N,) classes, attribute values and how often each sample is drawn → (K, C) with row b = P(y | b).

    The row of a value that no sample has is 0.
    """
    mass = torch.zeros(num_bias * num_classes, dtype=torch.float64, device=y.device)
    table = mass.index_add(0, bias * num_classes + y, weights.double()).view(num_bias, num_classes)
    return table / table.sum(1, keepdim=True).clamp_min(torch.finfo(table.dtype).tiny)


def bias_balanced_loss(logits: Tensor, y: Tensor, bias: Tensor, prior: Tensor) -> Tensor:
    """Mean CE(h(x) + log P(y | b), y) of Hong and Yang, NeurIPS 2021 (BiasBal); `prior` is (K, C).

    P(y | b) must be that of the distribution that the samples come from. Then a model that knows nothing but the
    attribute does best with logits that are all the same. The logits of the caller stay as they are.
    """
    log_prior = (prior + NEVER).log().float()
    return F.cross_entropy(logits.float() + log_prior[bias], y)
