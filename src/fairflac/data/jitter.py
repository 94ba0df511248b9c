"""Changes of colour, each by its own strength per image: (B, 3, H, W) in [0, 1], strengths (B,)."""

import torch
from torch import Tensor

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601, as PIL converts to grey
SMALL = 1e-6  # a chroma that nobody sees; grey has none, and any hue will do for it


def grey(x: Tensor) -> Tensor:
    """(B, 1, H, W)"""
    red, green, blue = x[:, 0:1], x[:, 1:2], x[:, 2:3]
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


def brightness(x: Tensor, factor: Tensor) -> Tensor:
    """0 is black, 1 the image."""
    return (x * _per_image(factor)).clamp_(0, 1)


def contrast(x: Tensor, factor: Tensor) -> Tensor:
    """0 is the mean grey of the image everywhere, 1 the image.

    The mean is that of whole grey levels, as in PIL: a sum of integers does not depend on its order, and so not on the
    batch.
    """
    levels = (255 * grey(x)).round_().int().sum(dim=(2, 3), keepdim=True)
    mean = levels / (255 * x.shape[2] * x.shape[3])
    return _away_from(mean, x, factor)


def saturation(x: Tensor, factor: Tensor) -> Tensor:
    """0 is grey, 1 the image."""
    return _away_from(grey(x), x, factor)


def hue(x: Tensor, turn: Tensor) -> Tensor:
    """Every colour moved around the circle of hues by a share of it; lightest and darkest channel keep their values."""
    red, green, blue = x.unbind(1)
    high, low = torch.maximum(torch.maximum(red, green), blue), torch.minimum(torch.minimum(red, green), blue)
    chroma = high - low
    # The hue in sixths of the circle, red at 0, green at 2 and blue at 4, times the chroma.
    place = torch.where(high == green, blue - red + 2 * chroma, red - green + 4 * chroma)
    place = torch.where(high == red, green - blue, place)
    place.div_(chroma.clamp(min=SMALL)).div_(6).add_(turn.view(-1, 1, 1))
    place.sub_(place.floor()).mul_(6)  # in [0, 6]
    # A channel is highest up to one sixth from its place on the circle, lowest from two sixths on, linear between.
    losses = 2 - (place - 3).abs_(), (place - 2).abs_().sub_(1), (place - 4).abs_().sub_(1)
    return torch.stack([high - loss.clamp_(0, 1).mul_(chroma) for loss in losses], dim=1)


def _away_from(base: Tensor, x: Tensor, factor: Tensor) -> Tensor:
    return (x - base).mul_(_per_image(factor)).add_(base).clamp_(0, 1)


def _per_image(factor: Tensor) -> Tensor:
    return factor.view(-1, 1, 1, 1)
