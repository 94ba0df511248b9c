"""LNL: an adversary listens halfway through the network, and the network learns to tell it nothing."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, Output, TaskSpec

Predictor = Literal["linear", "conv"]


@final
class LNL(Method):
    """Learning not to learn: an adversary predicts the attribute from a map halfway through, and is unlearnt.

    With f the layers up to that map, g the rest and p the adversary's posterior over attribute values, each batch does

        1. f and g:  CE(g(f(x)), y) + lam * mean_i Σ_b p_b log p_b       (p should not know)
        2. f and p:  CE(p(f(x)), bias), with the gradient into f times -reversal

    Paper: Kim et al., Learning Not to Learn: Training Deep Neural Networks with Biased Data, CVPR 2019, Section 3.
    Deviations: the adversary predicts the attribute of the image, as in the code of bias-contrastive learning; the
    paper's own predicts the quantised colour of every pixel. It is a linear layer on the pooled map, or with
    `predictor = "conv"` two convolutions before it, without BatchNorm. One Adam per network instead of SGD.
    """

    name: ClassVar[str] = "lnl"
    uses_bias_labels: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        lam: Annotated[float, Field(ge=0)] = 0.01,  # released code; bias-contrastive learning's has 1
        reversal: Annotated[float, Field(ge=0)] = 0.1,  # released code
        predictor: Predictor = "linear",
    ) -> None:
        super().__init__(net, spec)
        self.lam = lam
        self.reversal = reversal
        self.predictor = make_predictor(predictor, net.middle_dim, spec.num_bias)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        output, middle = self._listen(batch.x)
        ce = F.cross_entropy(output.logits, batch.y)
        log_p = self.predictor(middle).log_softmax(1)
        confidence = (log_p.exp() * log_p).sum(1).mean()
        loss = ce + self.lam * confidence
        minimise(loss, "net")
        _, middle = self._listen(batch.x)  # of the network as it is now
        guess = self.predictor(reverse_gradient(middle, self.reversal))
        adversary = F.cross_entropy(guess, batch.bias)
        minimise(adversary, "net", "predictor")
        logs = {"loss": loss, "ce": ce, "confidence": confidence, "adversary": adversary}
        return {name: value.detach() for name, value in logs.items()}

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {"net": self.net.parameters(), "predictor": self.predictor.parameters()}

    def _listen(self, x: Tensor) -> tuple[Output, Tensor]:
        """What the network says, and its map halfway through."""
        heard: list[Tensor] = []
        layer = self.net.get_submodule(self.net.middle)
        hook = layer.register_forward_hook(lambda *call: heard.append(call[2]))
        try:
            return self.net(x), heard[0]
        finally:
            hook.remove()


def make_predictor(kind: Predictor, channels: int, values: int) -> nn.Sequential:
    """(B, channels, H, W) → (B, values)."""
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, values)]
    if kind == "linear":
        return nn.Sequential(*end)
    layers: list[nn.Module] = []
    for _ in range(2):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, *end)


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return -ctx.factor * grads[0], None


def reverse_gradient(x: Tensor, factor: float = 1.0) -> Tensor:
    """`x` itself, whose gradient is multiplied by -factor (Ganin and Lempitsky, ICML 2015)."""
    reversed_: Tensor = _Reverse.apply(x, factor)  # type: ignore[no-untyped-call]
    return reversed_
