"""SoftCon: bias-contrastive learning with a bias model in place of attribute labels."""

from typing import Annotated, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.errors import UserError
from fairflac.losses.flac.inferred import conflicting_pairs
from fairflac.losses.gather import gather
from fairflac.losses.soft_bias import bias_dissimilarity, class_dissimilarity
from fairflac.losses.supcon import supcon_loss
from fairflac.methods.base import Method
from fairflac.types import Batch, BiasModelMissing, Minimise, Network, TaskSpec

LEAST_WEIGHT = 1e-6  # in drawing; less is rounding


@final
class SoftCon(Method):
    """SoftCon: pulls together samples of one class, the more so the more a bias model tells them apart.

    L = ce_weight * CE(h(x), y) + the supervised contrastive loss over two views, whose positives have the weights
    w_ij = [y_i = y_j] (1 - cos(b_i, b_j)), divided by their sum for each anchor; the two views of an image have none.
    Samples are drawn by their mean w over their class, at most `ratio` times the smallest. With `pairs` = "conflicting"
    pairs outside of FLAC's S (Eq. 1 of its paper) are neither positives nor in the denominator.

    Paper: Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, NeurIPS 2021,
    SoftCon; `pairs`: Sarridis et al., FLAC, IEEE TPAMI 2024, the ablation of Eq. 1.
    Deviations: one loader instead of two, so that the cross-entropy sees the augmented views of the weighted draw too.
    The mean w is over all samples of a class; the authors take 1024 at random. No projection head, as in their code.
    How S enters is not published: here it holds for all pairs of the contrastive loss, not for the drawing.
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
        counted = conflicting_pairs(bias, all_y) if self.pairs == "conflicting" else None
        contrast = supcon_loss(
            gather(output.features), all_y, temperature=self.tau, weights=bias_dissimilarity(bias), pairs=counted
        )
        loss = self.ce_weight * ce + contrast
        minimise(loss)
        logs = {"loss": loss, "ce": ce, "contrast": contrast}
        if counted is not None:
            logs["pairs"] = counted.sum().float()
        return {name: value.detach() for name, value in logs.items()}
