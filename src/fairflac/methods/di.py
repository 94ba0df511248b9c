"""DI: a classifier of its own for every value of the attribute, all on one representation."""

import math
from typing import ClassVar, Literal, final

import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec

Inference = Literal["logits", "log-probabilities", "probabilities", "max"]


@final
class DI(Method):
    """Domain-independent training: one head per attribute value, and all heads together decide.

    With logits s(y, b, x) and p(y | b, x) = softmax_y s(y, b, x), L = - mean_i log p(y_i | b_i, x_i): a head that only
    sees samples of one value gains nothing by looking at the attribute. Without the value, `predict` gives

        logits              Σ_b s(y, b, x)
        log-probabilities   Σ_b log p(y | b, x)
        probabilities       log mean_b p(y | b, x)
        max                 max_b log p(y | b, x)

    of which the first two decide alike. Several attributes have one head per combination of their values.

    Paper: Wang et al., Towards Fairness in Visual Recognition: Effective Strategies for Bias Mitigation, CVPR 2020,
    Section 4.4, where the sum of logits does best.
    Deviations: heads of values that the training set does not have are left out of `predict`; the paper's data has all.
    """

    name: ClassVar[str] = "di"
    uses_bias_labels: ClassVar[bool] = True

    trained: Tensor  # (K,) the heads that have training samples

    def __init__(self, net: Network, spec: TaskSpec, *, inference: Inference = "logits") -> None:  # the paper's best
        super().__init__(net, spec)
        self.inference = inference
        self.register_buffer("trained", torch.ones(spec.num_bias, dtype=torch.bool))

    @classmethod
    def num_logits(cls, spec: TaskSpec) -> int:
        return spec.num_bias * spec.num_classes

    def prepare(self, training_set: Batch) -> None:
        self.trained = training_set.bias.bincount(minlength=self.spec.num_bias) > 0

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        heads = self._heads(batch.x)
        own = heads[torch.arange(len(heads), device=heads.device), batch.bias]  # (B, C)
        loss = F.cross_entropy(own, batch.y)
        minimise(loss)
        return {"loss": loss.detach()}

    def predict(self, x: Tensor) -> Tensor:
        return combine(self._heads(x)[:, self.trained], self.inference)

    def _heads(self, x: Tensor) -> Tensor:
        """(B, K, C) logits."""
        return self.net(x).logits.view(-1, self.spec.num_bias, self.spec.num_classes)


def combine(heads: Tensor, inference: Inference) -> Tensor:
    """(B, K, C) logits of the heads → (B, C) logits of the decision."""
    if inference == "logits":
        return heads.sum(1)
    log_p = heads.log_softmax(2)
    if inference == "log-probabilities":
        return log_p.sum(1)
    if inference == "probabilities":
        return log_p.logsumexp(1) - math.log(heads.shape[1])
    return log_p.amax(1)
