"""How strong a second loss should be, from the gradients of both instead of a search."""

import torch
from torch import Tensor, nn

from fairflac.losses.gather import gather
from fairflac.system.hardware import finest_float

DECAY = 0.99  # of the running means: about the last hundred steps


class GradientBalance(nn.Module):
    """alpha such that `strength` of the pull on the features is FLAC's, and the rest the task's.

    Features are where both losses meet. With the norms of their gradients there, as running means over steps,
    alpha = strength / (1 - strength) · |∂L_task / ∂h| / |∂L_FLAC / ∂h|. What alpha has to be depends on the size of the
    batch, of S and of the features; the share of the pull does not (the idea of GradNorm, Chen et al., ICML 2018,
    without its training rates).

    Args:
        strength: from 0, FLAC does nothing, to 1, exclusive, the task does nothing; at 0.5 both pull alike.

    Example:
        >>> balance, features = GradientBalance(0.5), torch.ones(4, 2, requires_grad=True)
        >>> balance(features.sum(), 0.25 * features.sum(), features)
        tensor(4.)
    """

    norms: Tensor  # (2,) running means, of the task and of FLAC; 0 before the first step

    def __init__(self, strength: float) -> None:
        super().__init__()
        self.odds = strength / (1 - strength)
        self.register_buffer("norms", torch.zeros(2))

    def forward(self, task: Tensor, flac: Tensor, features: Tensor) -> Tensor:
        """alpha for this step.

        Args:
            task: () the loss of the task.
            flac: () FLAC's loss.
            features: (B, D) that both come from.

        Returns:
            () the weight of FLAC's loss; 0 as long as it has had no pair.
        """
        fine = finest_float(features.device)
        squares = [_gradient(loss, features).to(fine).square().sum() for loss in (task, flac)]
        everywhere = gather(torch.stack(squares)[None])  # (W, 2); a process has W times its part of the joint gradient
        now = (everywhere.sum(0).sqrt() / len(everywhere)).float()
        kept = torch.where(self.norms > 0, self.norms.lerp(now, 1 - DECAY), now)
        self.norms.copy_(torch.where(now > 0, kept, self.norms))  # of an empty S there is nothing to learn
        wanted = self.odds * self.norms[0] / self.norms[1].clamp_min(torch.finfo(self.norms.dtype).tiny)
        return torch.where(self.norms[1] > 0, wanted, 0).to(flac)


def _gradient(loss: Tensor, features: Tensor) -> Tensor:
    found = torch.autograd.grad(loss, features, retain_graph=True, allow_unused=True)[0]
    return torch.zeros_like(features) if found is None else found
