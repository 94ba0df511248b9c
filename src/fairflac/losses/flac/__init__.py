"""FLAC's loss: kernels, the pairs it uses, divergences, and the loss made of them."""

from fairflac.losses.flac.loss import FLACLoss, flac_loss

__all__ = ["FLACLoss", "flac_loss"]
