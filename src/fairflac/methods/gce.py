"""GCE: models that lean on what is easy, one or a committee, as bias models where nobody labelled the attribute."""

import copy
from typing import Annotated, ClassVar, final

import torch
from pydantic import Field
from torch import Tensor, nn

from fairflac.losses.reweighting import gce_loss
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, Output, TaskSpec


@final
class GCE(Method):
    """Generalised cross-entropy, which amplifies what a model finds easy (LfF's biased model).

    Paper: Zhang and Sabuncu, Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels,
    NeurIPS 2018, Eq. 6; as a biased model: Nam et al., Learning from Failure, NeurIPS 2020.
    Deviations: none.
    """

    name: ClassVar[str] = "gce"

    def __init__(self, net: Network, spec: TaskSpec, *, gce_q: Annotated[float, Field(gt=0, le=1)] = 0.7) -> None:
        super().__init__(net, spec)
        self.gce_q = gce_q

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        loss = gce_loss(self.net(batch.x).logits, batch.y, self.gce_q).mean()
        minimise(loss)
        return {"loss": loss.detach()}


@final
class Committee(Network):
    """Networks of one kind that vote; logits are the share of them that give a class more than `sure`.

    Features are those of the first member.
    """

    def __init__(self, first: Network, size: int, sure: float) -> None:
        super().__init__()
        self.members = nn.ModuleList([first, *(_another(first) for _ in range(size - 1))])
        self.sure = sure
        self.feature_dim, self.middle_dim = first.feature_dim, first.middle_dim
        self.middle = f"members.0.{first.middle}"

    def outputs(self, x: Tensor) -> list[Output]:
        return [member(x) for member in self.members]

    def forward(self, x: Tensor) -> Output:
        outputs = self.outputs(x)
        votes = [(output.logits.float().softmax(1) > self.sure).float() for output in outputs]
        return Output(torch.stack(votes).mean(0), outputs[0].features)


@final
class GCECommittee(Method):
    """Five GCE models that vote on the samples that a shortcut explains (BiasEnsemble's first stage).

    Each minimises generalised cross-entropy for a short time; `predict` gives the share of them that are sure of a
    class. It is a bias model for `disent-be`, not a classifier: a sample that none is sure of has no class.

    Paper: Lee et al., Revisiting the Importance of Amplifying Bias for Debiasing, AAAI 2023.
    Deviations: all members see the same batches, and their last state counts; the public code picks the state with the
    best accuracy on biased validation data. How long they train is in the recipes, in epochs; there it is 1,000 steps.
    """

    name: ClassVar[str] = "gce-committee"
    net: Committee

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        members: Annotated[int, Field(ge=1)] = 5,  # the paper's, as all below
        sure: Annotated[float, Field(ge=0, lt=1)] = 0.99,  # least probability of a vote
        gce_q: Annotated[float, Field(gt=0, le=1)] = 0.7,
    ) -> None:
        super().__init__(Committee(net, members, sure), spec)
        self.gce_q = gce_q

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        losses = [gce_loss(output.logits, batch.y, self.gce_q).mean() for output in self.net.outputs(batch.x)]
        loss = torch.stack(losses).sum()  # members share nothing, so each follows its own
        minimise(loss)
        return {"loss": loss.detach()}


def _another(network: Network) -> Network:
    """The same network with other initial weights.

    Those of a layer are drawn independently from one distribution, so that their shuffle is another draw from it,
    whatever the distribution is.
    """
    other = copy.deepcopy(network)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(parameter.flatten()[torch.randperm(parameter.numel())].view_as(parameter))
    return other
