"""Learned-mixin: a bias model answers first, and the net learns what is left to say."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class LearnedMixin(Method):
    """Learned-mixin +H: an ensemble with a bias model in training, the net alone afterwards.

    With the bias model's probabilities p and a factor beta = softplus(w · f + c) of the net's features f,

        L = CE(F(x) + beta log p, y) + entropy_weight · H(softmax(beta log p)).

    The entropy keeps beta from fading away.

    Paper: Clark et al., Don't Take the Easy Way Out: Ensemble Based Methods for Avoiding Known Dataset Biases, EMNLP
    2019, learned-mixin with the entropy penalty.
    Deviations: none in the loss. In ReBias' comparison for images, whose numbers FLAC's paper shows, w and c are never
    trained; here they are, as in Clark et al. (Its raw logits in place of log p change nothing: neither term sees a
    number that is added to all classes.)
    """

    name: ClassVar[str] = "lm"
    needs_bias_model: ClassVar[bool] = True
    asks_for_classes: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        entropy_weight: Annotated[float, Field(ge=0)] = 0.36,  # of ReBias' public code
    ) -> None:
        super().__init__(net, spec)
        self.mixing = nn.Linear(net.feature_dim, 1)
        self.entropy_weight = entropy_weight

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        output = self.net(batch.x)
        beta = F.softplus(self.mixing(output.features)).float()  # (B, 1)
        mixed_in = beta * batch.bias_logits.float().log_softmax(1)  # (B, C)
        ce = F.cross_entropy(output.logits.float() + mixed_in, batch.y)
        log_p = mixed_in.log_softmax(1)
        entropy = -(log_p.exp() * log_p).sum(1).mean()
        loss = ce + self.entropy_weight * entropy
        minimise(loss)
        return {
            "loss": loss.detach(),
            "ce": ce.detach(),
            "entropy": entropy.detach(),
            "beta": beta.detach().mean(),
        }

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {"net": self.net.parameters(), "mixing": self.mixing.parameters()}
