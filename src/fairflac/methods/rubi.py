"""RUBi: the net learns less from what a biased network already answers right."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class RUBi(Method):
    """RUBi: logits masked by what a biased network knows, so that what it answers alone teaches little.

    With features g of the biased net, which minimises its own cross-entropy, and c = Wg + b,

        L = CE(F(x) ⊙ sigmoid(c), y) + bias_weight · CE(c, y);   predictions are those of F.

    Paper: Cadene et al., RUBi: Reducing Unimodal Biases for Visual Question Answering, NeurIPS 2019,
    the masked and the bias-only loss.
    Deviations: as in ReBias' comparison for images, the bias is what a second network sees, not a question; neither
    term of L has a gradient in it, and one classifier c serves both terms. There c was never trained; here it is. All
    three are updated at once, so that c and the mask see the features of the biased net before its step.
    """

    name: ClassVar[str] = "rubi"
    needs_biased_net: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        biased_net: Network,
        *,
        bias_weight: Annotated[float, Field(ge=0)] = 1.0,  # of ReBias' public code
    ) -> None:
        super().__init__(net, spec)
        self.biased_net = biased_net
        self.classifier = nn.Linear(biased_net.feature_dim, spec.num_classes)
        self.bias_weight = bias_weight

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        biased = self.biased_net(batch.x)
        answers = self.classifier(biased.features.detach())  # (B, C), never a reason for the biased net to move
        masked = F.cross_entropy(self.net(batch.x).logits * torch.sigmoid(answers), batch.y)
        alone = F.cross_entropy(answers, batch.y)
        biased_ce = F.cross_entropy(biased.logits, batch.y)
        loss = masked + self.bias_weight * alone
        minimise(loss + biased_ce)  # the last has a gradient in the biased net only, and the others none there
        logs = {"loss": loss, "masked": masked, "alone": alone, "biased_ce": biased_ce}
        return {name: value.detach() for name, value in logs.items()}

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {
            "net": self.net.parameters(),
            "biased_net": self.biased_net.parameters(),
            "classifier": self.classifier.parameters(),
        }
