"""DisEnt and DisEnt+BE: two encoders, one for the class and one for the bias, and features that swap partners."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.losses.gather import gather, neighbours
from fairflac.losses.reweighting import RelativeDifficulty, gce_loss
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, Output, TaskSpec


class Disentangling(Method, ABC):
    """Heads C_i and C_b on features [z_i; z_b] of the net and the biased net, neither with a gradient in the other's.

        L = W · CE(C_i[z_i; z_b], y) + lam_dis · easy(C_b[z_i; z_b], y)
            + lam_swap · (W · CE(C_i[z_i; z~_b], y) + lam_swap_biased · easy(C_b[z_i; z~_b], y~))

    z~_b and y~ are of another sample, W is the relative difficulty of LfF before the swap, and the second line holds
    after `warm_up` + 1 steps. A linear head on two features side by side is the sum of a head on each: the network's
    own last layer and one across. The two final classes below differ in what `easy` is.
    """

    needs_biased_net: ClassVar[bool] = True
    steps: Tensor  # () so far

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        biased_net: Network,
        *,
        # The public code's values for its coloured digits, as all below; the paper has one set for each dataset.
        lam_dis: Annotated[float, Field(ge=0)] = 10.0,
        lam_swap: Annotated[float, Field(ge=0)] = 1.0,
        lam_swap_biased: Annotated[float, Field(ge=0)] = 10.0,
        warm_up: Annotated[int, Field(ge=0)] = 10_000,  # steps, of 50,000
        loss_decay: Annotated[float, Field(ge=0, lt=1)] = 0.7,
    ) -> None:
        super().__init__(net, spec)
        self.biased_net = biased_net
        self.across = nn.Linear(biased_net.feature_dim, spec.num_classes, bias=False)  # C_i on z_b
        self.biased_across = nn.Linear(net.feature_dim, spec.num_classes, bias=False)  # C_b on z_i
        self.lam_dis, self.lam_swap, self.lam_swap_biased = lam_dis, lam_swap, lam_swap_biased
        self.warm_up = warm_up
        self.difficulty = RelativeDifficulty(spec.num_classes, loss_decay)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.done = 0  # the same number where no device has to be asked

    def begin_epoch(self, epoch: int, training_set: Iterable[Batch]) -> None:
        self.done = int(self.steps)

    @abstractmethod
    def kept(self, batch: Batch) -> Tensor:
        """(B,) 1 for the samples that the biased net learns from, otherwise 0."""

    @abstractmethod
    def easy_losses(self, logits: Tensor, y: Tensor) -> Tensor:
        """(B,) losses of the biased net."""

    def prepare(self, training_set: Batch) -> None:
        self.difficulty.prepare(training_set.y)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        own, biased, kept = self.net(batch.x), self.biased_net(batch.x), self.kept(batch)
        logits, biased_logits = self._heads(own, biased)
        ce = F.cross_entropy(logits, batch.y, reduction="none")
        weights = self.difficulty(batch.index, F.cross_entropy(biased_logits, batch.y, reduction="none"), ce)
        apart = (weights * ce).mean() + self.lam_dis * self._easy(biased_logits, batch.y, kept)
        swap = torch.zeros_like(apart)
        if self.done > self.warm_up:  # as in the public code, whose first step is number 0
            swap = self._swap_loss(own, biased, batch.y, kept, weights)
        loss = apart + self.lam_swap * swap
        minimise(loss)
        self.done += 1
        self.steps += 1
        return {"loss": loss.detach(), "apart": apart.detach(), "swap": swap.detach(), "weight": weights.mean()}

    def _swap_loss(self, own: Output, biased: Output, y: Tensor, kept: Tensor, weights: Tensor) -> Tensor:
        logits, biased_logits = self._heads(own, Output(neighbours(biased.logits), neighbours(biased.features)))
        easy = self._easy(biased_logits, neighbours(y), neighbours(kept))
        return (weights * F.cross_entropy(logits, y, reduction="none")).mean() + self.lam_swap_biased * easy

    def _heads(self, own: Output, biased: Output) -> tuple[Tensor, Tensor]:
        """C_i and C_b, each with gradients in its own network and its own weights only."""
        logits = own.logits + self.across(biased.features.detach())
        biased_logits = biased.logits + self.biased_across(own.features.detach())
        return logits.float(), biased_logits.float()

    def _easy(self, logits: Tensor, y: Tensor, kept: Tensor) -> Tensor:
        """Mean over the kept samples of all processes; 0 where none is."""
        share = gather(kept).mean().clamp_min(torch.finfo(kept.dtype).tiny)
        return (kept * self.easy_losses(logits, y)).mean() / share

    def predict(self, x: Tensor) -> Tensor:
        return self._heads(self.net(x), self.biased_net(x))[0]

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {
            "net": [*self.net.parameters(), *self.across.parameters()],
            "biased_net": [*self.biased_net.parameters(), *self.biased_across.parameters()],
        }


@final
class DisEnt(Disentangling):
    """DisEnt: features of class and bias apart, and the bias of one sample put to the class of another.

    The biased net minimises GCE with q = 0.7.

    Paper: Lee et al., Learning Debiased Representation via Disentangled Feature Augmentation, NeurIPS 2021, the
    losses before and after swapping.
    Deviations: the partner is the neighbour in the shuffled batch instead of one by a second shuffle. Each half of a
    head starts with the spread of a layer of its own width. The learning rate follows the schedule of the recipe;
    the public code halves it every 10,000 steps after the warm-up. The gradient of GCE is exact, as in LfF.
    """

    name: ClassVar[str] = "disent"

    def kept(self, batch: Batch) -> Tensor:
        return torch.ones(len(batch.y), device=batch.y.device)

    def easy_losses(self, logits: Tensor, y: Tensor) -> Tensor:
        return gce_loss(logits, y)


@final
class DisEntBE(Disentangling):
    """DisEnt+BE: DisEnt whose biased net learns from samples that a committee of biased models is sure of.

    The biased net minimises cross-entropy on the samples whose own class has the votes of more than half of the
    committee, a run of `gce-committee`, whose shares of votes are the bias model's output.

    Paper: Lee et al., Revisiting the Importance of Amplifying Bias for Debiasing, AAAI 2023.
    Deviations: as DisEnt; and see `gce-committee`.
    """

    name: ClassVar[str] = "disent-be"
    needs_bias_model: ClassVar[bool] = True
    asks_for_classes: ClassVar[bool] = True
    bias_model_method: ClassVar[str | None] = "gce-committee"

    def kept(self, batch: Batch) -> Tensor:
        votes = batch.bias_logits.gather(1, batch.y[:, None])[:, 0]
        return (votes > 0.5).float()  # 3 of 5

    def easy_losses(self, logits: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(logits, y, reduction="none")
