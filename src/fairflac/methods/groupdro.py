"""GroupDRO: train for the worst group of class and attribute value, whichever it is at the time."""

from typing import Annotated, ClassVar, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.losses.gather import gather
from fairflac.losses.reweighting import GroupWeights
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class GroupDRO(Method):
    """Distributionally robust optimisation over the groups g = (y, bias), online.

    With l_g the mean loss of group g in the batch and n_g its size in the training set, each step does

        q_g ← q_g exp(eta_q (l_g + adjustment / √n_g)) for the groups of the batch, Σ_g q_g = 1,    L = Σ_g q_g l_g.

    Paper: Sagawa et al., Distributionally Robust Neural Networks for Group Shifts: On the Importance of Regularization
    for Worst-Case Generalization, ICLR 2020, Algorithm 1 and Section 3.3.
    Deviations: a batch has samples of many groups, as in the released code, where Algorithm 1 has those of one. A group
    that is absent from a batch keeps its q but for the common scale (in the released code its adjustment still raises
    it). Groups that the training set does not have get no weight. The paper uses SGD.
    """

    name: ClassVar[str] = "groupdro"
    uses_bias_labels: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        eta_q: Annotated[float, Field(ge=0)] = 0.01,  # released code
        adjustment: Annotated[float, Field(ge=0)] = 0.0,  # C of the paper, which tries 0 to 5
        balanced: bool = True,  # draw every group equally often, as Algorithm 1 does
    ) -> None:
        super().__init__(net, spec)
        self.balanced = balanced
        self.weights: Tensor | None = None
        self.groups = GroupWeights(spec.num_classes * spec.num_bias, eta_q, adjustment)

    def prepare(self, training_set: Batch) -> None:
        group = self._group(training_set)
        sizes = group.bincount(minlength=len(self.groups.q))
        self.groups.start(sizes)
        self.weights = (1 / sizes[group]) if self.balanced else None

    def sample_weights(self) -> Tensor | None:
        return self.weights

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        ce = F.cross_entropy(self.net(batch.x).logits, batch.y, reduction="none")
        # The means of groups, and so q, are those of the batch of all processes.
        loss, worst = self.groups(gather(ce), gather(self._group(batch)))
        minimise(loss)
        return {"loss": loss.detach(), "ce": ce.detach().mean(), "worst": worst, "largest_q": self.groups.q.max()}

    def _group(self, batch: Batch) -> Tensor:
        """(B,) no two pairs of class and attribute value alike."""
        return batch.y * self.spec.num_bias + batch.bias
