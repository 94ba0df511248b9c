"""Losses for any training loop: `from fairflac.losses import FLACLoss`."""

from fairflac.losses.bias_balance import bias_balanced_loss, class_given_bias
from fairflac.losses.end import disentangling_loss, entangling_loss
from fairflac.losses.fairkl import fairkl_loss, sup_info_nce
from fairflac.losses.flac import DenseFLACLoss, FLACLoss, flac_loss
from fairflac.losses.gce import gce_loss
from fairflac.losses.groupdro import GroupWeights
from fairflac.losses.hsic import hsic
from fairflac.losses.relative_difficulty import RelativeDifficulty
from fairflac.losses.soft_bias import bias_dissimilarity, class_dissimilarity
from fairflac.losses.supcon import supcon_loss

__all__ = [
    "DenseFLACLoss",
    "FLACLoss",
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
