"""JTT: train again, with the samples that a short first training got wrong drawn more often."""

from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from fairflac.errors import UserError
from fairflac.methods.base import Method
from fairflac.types import Batch, BiasModelMissing, Minimise, Network, TaskSpec


@final
class JTT(Method):
    """Just train twice: what a short first training got wrong is drawn 1 + `lambda_up` times as often in the second.

    L = CE in both. The first (the bias model) is a vanilla training that is stopped early, before it learns more than
    the shortcut: `bias_model.epochs`.

    Paper: Liu et al., Just Train Twice: Improving Group Robustness without Training Group Information, ICML 2021,
    Algorithm 1.
    Deviations: samples are drawn with these odds, and an epoch stays as long as the training set; the
    authors add the error set `lambda_up` times to the training set, which makes it longer. The paper uses SGD.
    """

    name: ClassVar[str] = "jtt"
    needs_bias_model: ClassVar[bool] = True
    asks_for_classes: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        lambda_up: Annotated[float, Field(gt=0)] = 50.0,  # the paper's on CelebA; 20 to 100 elsewhere
    ) -> None:
        super().__init__(net, spec)
        self.lambda_up = lambda_up
        self.weights: Tensor | None = None

    def prepare(self, training_set: Batch) -> None:
        try:
            wrong = training_set.bias_logits.argmax(1) != training_set.y
        except BiasModelMissing:
            raise UserError(
                "'jtt' asks the bias model about all images before it trains: leave bias_features = 'cached'"
            ) from None
        if not wrong.any():
            raise UserError(
                "stage 1 classifies every training image right, so 'jtt' would be vanilla: "
                "stop it earlier (set bias_model.epochs)"
            )
        self.weights = torch.where(wrong, 1 + self.lambda_up, 1.0)

    def sample_weights(self) -> Tensor | None:
        return self.weights

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        loss = F.cross_entropy(self.net(batch.x).logits, batch.y)
        minimise(loss)
        with torch.no_grad():
            wrong = batch.bias_logits.argmax(1) != batch.y
        return {"loss": loss.detach(), "upweighted": wrong.float().mean()}
