"""EnD: entangle what shares a class across attribute values, disentangle what shares an attribute value."""

from typing import Annotated, ClassVar, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.losses.contrastive import disentangling_loss, entangling_loss
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class EnD(Method):
    """Entangling and disentangling: L = CE + alpha * R_⊥ + beta * R_∥ on the cosines of the features.

    R_⊥ makes features of one attribute value orthogonal on average, R_∥ makes features of one class parallel across
    attribute values; see `losses/end.py`.

    Paper: Tartaglione et al., EnD: Entangling and Disentangling Deep Representations for Bias Correction, CVPR 2021,
    Section 3.
    Deviations: R_∥ takes every pair of one class and two attribute values (the released code drops about half of them).
    Tanh after the last block and a classifier on unit features, as released, are settings of the network
    (`last = "tanh"`, `unit_features = true`), which the recipes of digits make.
    """

    name: ClassVar[str] = "end"
    uses_bias_labels: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        alpha: Annotated[float, Field(ge=0)] = 1.0,  # bias-contrastive learning's code; the paper searches per dataset
        beta: Annotated[float, Field(ge=0)] = 1.0,  # likewise
    ) -> None:
        super().__init__(net, spec)
        self.alpha = alpha
        self.beta = beta

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        output = self.net(batch.x)
        ce = F.cross_entropy(output.logits, batch.y)
        # Pairs are formed over the batch of all processes.
        features, y, bias = gather(output.features), gather(batch.y), gather(batch.bias)
        terms = {"disentangling": disentangling_loss(features, bias), "entangling": entangling_loss(features, y, bias)}
        loss = ce + self.alpha * terms["disentangling"] + self.beta * terms["entangling"]
        minimise(loss)
        return {"loss": loss.detach(), "ce": ce.detach(), **{name: term.detach() for name, term in terms.items()}}
