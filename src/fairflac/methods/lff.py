"""LfF: a model learns most from the samples on which a biased model fails."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.losses.reweighting import RelativeDifficulty, gce_loss
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class LfF(Method):
    """Learning from Failure: samples that a biased model gets wrong weigh more.

    The biased net minimises GCE, the net W · CE with W = L_B / (L_B + L_D) from per-sample cross-entropies of both.

    Paper: Nam et al., Learning from Failure: Training Debiased Classifier from Biased Classifier, NeurIPS 2020,
    GCE for the biased model and the relative difficulty score for the other.
    Deviations: moving averages of the losses, divided by their class maxima, as in the public code. The gradient of GCE
    is exact; the public code has an extra constant factor q, which Adam takes out again.
    """

    name: ClassVar[str] = "lff"
    needs_biased_net: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        biased_net: Network,
        *,
        gce_q: Annotated[float, Field(gt=0, le=1)] = 0.7,  # the paper's
        loss_decay: Annotated[float, Field(ge=0, lt=1)] = 0.7,  # of a sample's average loss, the public code's
    ) -> None:
        super().__init__(net, spec)
        self.biased_net = biased_net
        self.gce_q = gce_q
        self.difficulty = RelativeDifficulty(spec.num_classes, loss_decay)

    def prepare(self, training_set: Batch) -> None:
        self.difficulty.prepare(training_set.y)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        biased_logits = self.biased_net(batch.x).logits.float()
        ce = F.cross_entropy(self.net(batch.x).logits.float(), batch.y, reduction="none")  # (B,)
        biased_ce = F.cross_entropy(biased_logits, batch.y, reduction="none")
        weights = self.difficulty(batch.index, biased_ce, ce)
        debiased = (weights * ce).mean()
        biased = gce_loss(biased_logits, batch.y, self.gce_q).mean()
        loss = debiased + biased  # neither has a gradient in the other's network
        minimise(loss)
        return {
            "loss": loss.detach(),
            "debiased": debiased.detach(),
            "biased": biased.detach(),
            "weight": weights.mean(),
        }

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {"net": self.net.parameters(), "biased_net": self.biased_net.parameters()}
