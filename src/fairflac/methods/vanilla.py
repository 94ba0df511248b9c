"""Vanilla: cross-entropy on the classes, the model every other one is compared with."""

from typing import ClassVar, final

import torch.nn.functional as F
from torch import Tensor

from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise


@final
class Vanilla(Method):
    """Empirical risk minimisation: L = CE(h(x), y).

    Paper: Vapnik, Principles of risk minimization for learning theory, NIPS 1991.
    Deviations: none.
    """

    name: ClassVar[str] = "vanilla"

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        loss = F.cross_entropy(self.net(batch.x).logits, batch.y)
        minimise(loss)
        return {"loss": loss.detach()}
