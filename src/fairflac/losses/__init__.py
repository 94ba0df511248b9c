"""Losses for any training loop: `from fairflac.losses import FLACLoss`."""

from fairflac.losses.alpha import GradientBalance
from fairflac.losses.contrastive import (
    bias_dissimilarity,
    class_dissimilarity,
    disentangling_loss,
    entangling_loss,
    fairkl_loss,
    sup_info_nce,
    supcon_loss,
)
from fairflac.losses.flac import DenseFLACLoss, FLACLoss, flac_loss
from fairflac.losses.hsic import hsic
from fairflac.losses.reweighting import GroupWeights, RelativeDifficulty, bias_balanced_loss, class_given_bias, gce_loss

__all__ = [
    "DenseFLACLoss",
    "FLACLoss",
    "GradientBalance",
    "GroupWeights",
    "RelativeDifficulty",
    "bias_balanced_loss",
    "bias_dissimilarity",
    "class_dissimilarity",
    "class_given_bias",
    "disentangling_loss",
    "entangling_loss",
    "fairkl_loss",
    "flac_loss",
    "gce_loss",
    "hsic",
    "sup_info_nce",
    "supcon_loss",
]
