"""LISA: mix images of one class across the attribute, and images of one attribute value across classes."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, final

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.data.pixels.augment import Purpose, RandomNumbers
from fairflac.losses.gather import gather, own_share
from fairflac.losses.reweighting import BalancedGroups, joint_logits
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class LISA(Method):
    """LISA: training on mixtures of images that differ in the guessed attribute or in the class, and not in both.

    For an image x_i of class y_i and attribute a_i and a partner j, x = lambda x_i + (1 - lambda) x_j with lambda from
    Beta(2, 2), and L = lambda CE(h(x), y_i) + (1 - lambda) CE(h(x), y_j). With probability `p_sel` a batch has partners
    of its own class with another value (LISA-L, where both labels are the same), else of its own value with another
    class (LISA-D). An image without such a partner in its batch stays as it is. Groups of class and attribute are drawn
    equally often, as `balanced` does. The attribute is what the bias model names, or what groups that were found say;
    of several bias models the combination of theirs.

    Paper: Yao et al., Improving Out-of-Distribution Robustness via Selective Augmentation, ICML 2022: intra-label and
    intra-domain LISA, with mixup.
    Deviations: the attribute is guessed, where the paper has its labels. The partner is the next fitting sample in the
    shuffled batch, where the authors draw a batch from each group and mix row by row. No CutMix, which they take for
    CelebA.
    """

    name: ClassVar[str] = "lisa"
    needs_bias_model: ClassVar[bool] = True
    takes_bias_models: ClassVar[bool] = True

    def __init__(self, net: Network, spec: TaskSpec, *, p_sel: Annotated[float, Field(ge=0, le=1)] = 0.5) -> None:
        super().__init__(net, spec)
        self.p_sel = p_sel
        self.groups = BalancedGroups("batches", spec.num_classes)

    def prepare(self, training_set: Batch) -> None:
        self.groups.start(training_set)
        self.index = training_set.index

    def sample_weights(self) -> Tensor | None:
        return self.groups.weights

    def begin_epoch(self, epoch: int, training_set: Iterable[Batch]) -> None:
        """What is drawn for each sample; the same on all processes, and after a stop."""
        three, choice = np.split(mixing_numbers(self.index, epoch), [3])
        # The middle one of three uniform numbers has the distribution Beta(2, 2).
        self.shares = torch.from_numpy(np.median(three, axis=0)).float().to(self.index.device)  # (N,) lambda
        self.choices = torch.from_numpy(choice[0]).float().to(self.index.device)  # (N,)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        # The batch of all processes: each mixes its own rows, with partners from anywhere.
        x, y, index = gather(batch.x), gather(batch.y), gather(batch.index)
        guess = gather(joint_logits(batch.bias_outputs).argmax(1))
        rows = own_share(len(batch.y)).rows
        same_class, same_value = y[:, None] == y, guess[:, None] == guess
        intra_label = self.choices[index[:1]] < self.p_sel  # of the whole batch
        fits = torch.where(intra_label, same_class & ~same_value, same_value & ~same_class)
        partner, other_share = next_fitting(fits)[rows], 1 - self.shares[batch.index]
        mixed = torch.lerp(batch.x, x[partner], other_share.view(-1, *[1] * (x.ndim - 1)))
        logits = self.net(mixed).logits.float()
        own, other = (F.cross_entropy(logits, label, reduction="none") for label in (batch.y, y[partner]))
        loss = torch.lerp(own, other, other_share).mean()
        minimise(loss)
        return {"loss": loss.detach(), "mixed": fits.any(1)[rows].float().mean()}


def mixing_numbers(index: Tensor, epoch: int) -> np.ndarray:
    """(4, N) uniform numbers of these samples: three for lambda, one for the kind of partner."""
    return RandomNumbers.at(seed=0, epoch=epoch, view=0, index=index).uniform(Purpose.MIX, 4)


def next_fitting(fits: Tensor) -> Tensor:
    """(N, N) whether sample j may be the partner of i → (N,) the first such j after i, around the end; i if none is."""
    own = torch.arange(len(fits), device=fits.device)
    away = (own - own[:, None]) % len(fits)
    nearest = torch.where(fits, away, len(fits)).amin(1) % len(fits)
    return (own + nearest) % len(fits)
