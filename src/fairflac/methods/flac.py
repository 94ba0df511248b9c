"""FLAC and FLAC-B: match similarities of the model to dissimilarities of a bias model, on conflicting pairs."""

from abc import ABC
from typing import Annotated, ClassVar, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.losses.flac import FLACLoss
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


class PairMatching(Method, ABC):
    """L = ce_weight * CE + alpha * L_FLAC (Eq. 7). The two final classes below differ in their bias model only."""

    needs_bias_model: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        task: TaskSpec,
        *,
        alpha: Annotated[float, Field(ge=0)] = 1000.0,  # the released code's default; the paper tunes it per dataset
        ce_weight: Annotated[float, Field(ge=0)] = 1.0,
        exponent: Annotated[float, Field(gt=0, le=2)] = 0.5,  # of the distance in the kernel
    ) -> None:
        super().__init__(net, task)
        self.alpha = alpha
        self.ce_weight = ce_weight
        self.flac = FLACLoss(exponent=exponent)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        output = self.net(batch.x)
        ce = F.cross_entropy(output.logits, batch.y)
        # Pairs are formed over the batch of all processes.
        flac = self.flac(gather(batch.bias_features), gather(output.features), gather(batch.y))
        loss = self.ce_weight * ce + self.alpha * flac
        minimise(loss)
        return {"loss": loss.detach(), "ce": ce.detach(), "flac": flac.detach(), **self.flac.stats}


@final
class FLAC(PairMatching):
    """FLAC: fair representations without attribute labels of the training set.

    The bias model is trained to predict the attribute on other data D' that carries its labels.

    Paper: Sarridis et al., FLAC: Fairness-Aware Representation Learning by Suppressing Attribute-Class Associations,
    IEEE TPAMI 2024, Eq. 1-7.
    Deviations: the dialect of the loss that the published alphas belong to (square-root distance in the kernel, mean
    over S, unit-norm features), see `FLACLoss`; the literal text is `FLACLoss.paper()`.
    """

    name: ClassVar[str] = "flac"


@final
class FLACB(PairMatching):
    """FLAC-B: FLAC whose bias model is a vanilla model of the same data, for when nobody labelled the attribute.

    Paper: Sarridis et al., FLAC: Fairness-Aware Representation Learning by Suppressing Attribute-Class Associations,
    IEEE TPAMI 2024, Section 3.2.
    Deviations: as FLAC.
    """

    name: ClassVar[str] = "flac-b"
