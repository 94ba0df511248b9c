"""SoftCon: bias-contrastive learning with a bias model in place of attribute labels."""

from typing import Annotated, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.errors import UserError
from fairflac.losses.contrastive import bias_dissimilarity, class_dissimilarity, supcon_loss
from fairflac.losses.flac import conflicting_pairs
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.types import Batch, BiasModelMissing, Minimise, Network, TaskSpec

LEAST_WEIGHT = 1e-6  # in drawing; less is rounding


@final
class SoftCon(Method):
    """SoftCon: pulls together samples of one class, the more so the more a bias model tells them apart.

    L = ce_weight * CE(h(x), y) + the supervised contrastive loss over two views, whose positives have the weights
    w_ij = [y_i = y_j] (1 - cos(b_i, b_j)), divided by their sum for each anchor; the two views of an image have none.
    Samples are drawn by their mean w over their class, at most `ratio` times the smallest. With `pairs` = "conflicting"
    w is 0 outside of FLAC's S (Eq. 1 of its paper): what is left are pairs of one class and two attribute values.

    Paper: Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, NeurIPS 2021,
    SoftCon; `pairs`: Sarridis et al., FLAC, IEEE TPAMI 2024, the ablation of Eq. 1.
    Deviations: one loader instead of two, so that the cross-entropy sees the augmented views of the weighted draw too.
    The mean w is over all samples of a class; the authors take 1024 at random. No projection head, as in their code.
    How S enters is not published: here as a mask on w. The other half of S (two classes, one attribute value) is in the
    denominator anyway, as all samples are; without the rest of the denominator less is learnt of the classes.
    """

    name: ClassVar[str] = "softcon"
    needs_bias_model: ClassVar[bool] = True
    num_views: int = 2

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        ce_weight: Annotated[float, Field(ge=0)] = 0.01,  # the authors' code on Biased-MNIST
        tau: Annotated[float, Field(gt=0)] = 0.07,  # the authors' code
        ratio: Annotated[float, Field(ge=1)] = 10.0,  # the authors' code on Biased-MNIST; 1: every sample once an epoch
        pairs: Literal["all", "conflicting"] = "all",
    ) -> None:
        super().__init__(net, spec)
        self.ce_weight, self.tau, self.ratio, self.pairs = ce_weight, tau, ratio, pairs
        self.weights: Tensor | None = None  # (N,)

    def prepare(self, training_set: Batch) -> None:
        if self.ratio == 1:
            return
        try:
            weights = class_dissimilarity(training_set.bias_features, training_set.y).clamp_min(LEAST_WEIGHT)
        except BiasModelMissing as error:
            raise UserError(
                "softcon draws samples by what the bias model says of the whole training set: "
                "set bias_features=cached, or ratio=1"
            ) from error
        self.weights = weights.clamp_max(self.ratio * weights.min())

    def sample_weights(self) -> Tensor | None:
        return self.weights

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        views = len(batch.views)
        output = self.net(torch.cat(batch.views))  # (views · B, …)
        y = batch.y.repeat(views)
        ce = F.cross_entropy(output.logits, y)
        bias, all_y = gather(batch.bias_features.repeat(views, 1)), gather(y)
        weights = bias_dissimilarity(bias)
        if self.pairs == "conflicting":
            weights = weights * conflicting_pairs(bias, all_y)
        contrast = supcon_loss(gather(output.features), all_y, temperature=self.tau, weights=weights)
        loss = self.ce_weight * ce + contrast
        minimise(loss)
        return {"loss": loss.detach(), "ce": ce.detach(), "contrast": contrast.detach()}
