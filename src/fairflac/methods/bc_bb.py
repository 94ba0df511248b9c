"""BC-BB: bias-contrastive and bias-balanced learning."""

from typing import Annotated, ClassVar, final

import torch
from pydantic import Field
from torch import Tensor

from fairflac.losses.contrastive import supcon_loss
from fairflac.losses.gather import gather
from fairflac.losses.reweighting import bias_balanced_loss, class_given_bias
from fairflac.methods.base import Method
from fairflac.system.hardware import finest_float
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class BCBB(Method):
    """BC-BB: pulls together samples of one class that differ in the attribute, and discounts what the attribute says.

    L = ce_weight * CE(h(x) + log P(y | b), y) + BC over two views, where BC is the supervised contrastive loss whose
    positives have the same class and another attribute value: the two views of an image are none. All other samples
    are in the denominator, and an anchor without positives contributes 0. Samples are drawn with weight 1 / P(b | y),
    at most `ratio` times the smallest.

    Paper: Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, NeurIPS 2021,
    BiasCon and BiasBal.
    Deviations: one loader instead of two. The authors draw by weight for BC, and for the balanced cross-entropy as the
    data come, without augmentation; here both terms see the same augmented views of the weighted draw, and so P(y | b)
    is that of the weighted draw, which at `ratio` = 1 is the training set's. No projection head, as in their code.
    """

    name: ClassVar[str] = "bc-bb"
    uses_bias_labels: ClassVar[bool] = True
    num_views: int = 2

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        ce_weight: Annotated[float, Field(ge=0)] = 0.01,  # the authors' code
        tau: Annotated[float, Field(gt=0)] = 0.07,  # the authors' code
        ratio: Annotated[float, Field(ge=1)] = 10.0,  # the authors' code; largest to smallest weight in drawing
    ) -> None:
        super().__init__(net, spec)
        self.ce_weight, self.tau, self.ratio = ce_weight, tau, ratio
        self.weights: Tensor | None = None  # (N,)
        self.prior: Tensor  # (K, C)

    def prepare(self, training_set: Batch) -> None:
        y, bias = training_set.y, training_set.bias
        sizes = {"num_classes": self.spec.num_classes, "num_bias": self.spec.num_bias}
        cells = bias * self.spec.num_classes + y
        # 1 / P(b | y): the size of a sample's class by that of its cell.
        weights = y.bincount()[y].to(finest_float(y.device)) / cells.bincount()[cells]
        self.weights = weights.clamp_max(self.ratio * weights.min())
        self.prior = class_given_bias(y, bias, self.weights, **sizes)

    def sample_weights(self) -> Tensor | None:
        return self.weights

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        views = len(batch.views)
        output = self.net(torch.cat(batch.views))  # (views · B, …)
        y, bias = batch.y.repeat(views), batch.bias.repeat(views)
        ce = bias_balanced_loss(output.logits, y, bias, self.prior)
        features, all_y, all_bias = gather(output.features), gather(y), gather(bias)
        contrast = supcon_loss(features, all_y, temperature=self.tau, weights=all_bias[:, None] != all_bias)
        loss = self.ce_weight * ce + contrast
        minimise(loss)
        return {"loss": loss.detach(), "ce": ce.detach(), "contrast": contrast.detach()}
