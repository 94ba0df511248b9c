"""GCE: a model that leans on what is easy, as a bias model for data whose attribute nobody labelled."""

from typing import Annotated, ClassVar, final

from pydantic import Field
from torch import Tensor

from fairflac.losses.reweighting import gce_loss
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


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
