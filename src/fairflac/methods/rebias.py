"""ReBias: be independent of a network that by its design can see little but the bias."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.losses.gather import gather
from fairflac.losses.hsic import Similarity, hsic
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class ReBias(Method):
    """ReBias: features that do not depend on those of a network with a small receptive field.

    A game between the net f and the biased net g, which sees too few pixels at a time for more than the bias:

        g minimises CE_g - lam_g · HSIC(f, g),   f minimises CE_f + lam_f · HSIC(f, g).

    Paper: Bahng et al., Learning De-biased Representations with Biased Representations, ICML 2020, its
    minimax objective with the unbiased estimator of HSIC.
    Deviations: `sigma = "median"` is the median distance in the batch; the public code takes it from a quarter of the
    training set once an epoch. f is evaluated once for both updates, g again after its own. Adam, where the public code
    recommends AdamP.
    """

    name: ClassVar[str] = "rebias"
    needs_biased_net: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        biased_net: Network,
        *,
        lam_f: Annotated[float, Field(ge=0)] = 1.0,  # the paper's, as the next two
        lam_g: Annotated[float, Field(ge=0)] = 1.0,
        kernel: Similarity = "rbf",
        sigma: Annotated[float, Field(gt=0)] | Literal["median", "mean"] = 1.0,  # of the public code on Biased-MNIST
    ) -> None:
        super().__init__(net, spec)
        self.biased_net = biased_net
        self.lam_f, self.lam_g = lam_f, lam_g
        self.kernel, self.sigma = kernel, sigma

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        output, biased = self.net(batch.x), self.biased_net(batch.x)
        biased_ce = F.cross_entropy(biased.logits, batch.y)
        minimise(biased_ce - self.lam_g * self._dependence(output.features.detach(), biased.features), "biased_net")
        with torch.no_grad():
            opponent = self.biased_net(batch.x).features
        ce = F.cross_entropy(output.logits, batch.y)
        dependence = self._dependence(output.features, opponent)
        loss = ce + self.lam_f * dependence
        minimise(loss, "net")
        logs = {"loss": loss, "ce": ce, "hsic": dependence, "biased_ce": biased_ce}
        return {name: value.detach() for name, value in logs.items()}

    def _dependence(self, features: Tensor, biased: Tensor) -> Tensor:
        """HSIC over the batch of all processes."""
        return hsic(gather(features), gather(biased), kernel=self.kernel, sigma=self.sigma)

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {"net": self.net.parameters(), "biased_net": self.biased_net.parameters()}
