"""FLAC's loss: the module, the textbook form as the equations are, and the fused kernel that training uses."""

from fairflac.losses.flac.loss import DenseFLACLoss, FLACLoss, conflicting_pairs, flac_loss, inferred_pairs
from fairflac.losses.flac.several import Combine
from fairflac.losses.flac.textbook import Divergence, Kernel, Pairs, Reduction, Settings, Targets, Threshold

__all__ = [
    "Combine",
    "DenseFLACLoss",
    "Divergence",
    "FLACLoss",
    "Kernel",
    "Pairs",
    "Reduction",
    "Settings",
    "Targets",
    "Threshold",
    "conflicting_pairs",
    "flac_loss",
    "inferred_pairs",
]
