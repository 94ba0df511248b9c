"""Losses for any training loop: `from fairflac.losses import FLACLoss`."""

from fairflac.losses.flac import FLACLoss, flac_loss

__all__ = ["FLACLoss", "flac_loss"]
