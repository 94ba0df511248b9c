"""HEX: classify by what grey-level statistics of the image cannot explain."""

from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.data.jitter import LUMA
from fairflac.losses.gather import gather
from fairflac.losses.projection import project_out
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec

WIDTH = 32  # of the texture representation [released code]


@final
class HEX(Method):
    """Superficial statistics projected out: a texture branch predicts as well, and only the rest is trained.

    With h the features of the network, g those of the texture branch (`CoOccurrence`) and one linear classifier f on
    both, F_A = f([h; g]), F_P = f([h; 0]), F_G = f([0; g]):

        F_L = (I - F_G (F_Gᵀ F_G)⁻¹ F_Gᵀ) F_A over the batch,    L = CE(F_L, y),    prediction F_P.

    Paper: Wang et al., Learning Robust Representations by Projecting Superficial Statistics Out, ICLR 2019, Section 3.
    Deviations: a ridge keeps the inverse finite. Both parts of f have a bias, so that f([h; 0]) is the network as it
    is. Grey levels are co-occurrences of right neighbours, 16 levels (128 in the released code), mapped by a layer with
    ReLU. No normalisation over the batch, by which a prediction would depend on other test images. From scratch, where
    the authors fine-tune.
    """

    name: ClassVar[str] = "hex"

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        levels: Annotated[int, Field(ge=2, le=128)] = 16,  # ours; memory grows with it
        ridge: Annotated[float, Field(gt=0)] = 1e-4,  # ours
    ) -> None:
        super().__init__(net, spec)
        self.ridge = ridge
        self.texture = nn.Sequential(CoOccurrence(spec, levels), nn.Linear(levels**2, WIDTH), nn.ReLU())
        self.texture_head = nn.Linear(WIDTH, spec.num_classes)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        by_texture = self.texture_head(self.texture(batch.x))  # F_G
        everything = self.net(batch.x).logits + by_texture  # F_A
        # The projection is over the batch of all processes.
        y, everything, by_texture = gather(batch.y), gather(everything), gather(by_texture)
        rest = project_out(everything, by_texture, self.ridge)
        loss = F.cross_entropy(rest, y)
        minimise(loss)
        kept = rest.detach().norm() / everything.detach().float().norm().clamp_min(1e-12)
        return {"loss": loss.detach(), "kept": kept}

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        texture = [*self.texture.parameters(), *self.texture_head.parameters()]
        return {"net": list(self.net.parameters()), "texture": texture}


class CoOccurrence(nn.Module):
    """A grey-level co-occurrence matrix with thresholds that are learnt.

    Entry (j, k) is the mean over neighbours (u, v) of step(u - a_j) step(v - b_k), where step rises from 0 to 1 within
    a level: cumulative counts, of which every threshold has a gradient.
    """

    weights: Tensor  # from normalised channels to grey in [0, 1]
    offset: Tensor

    def __init__(self, spec: TaskSpec, levels: int) -> None:
        super().__init__()
        self.levels = levels
        self.left = nn.Parameter(torch.arange(levels, dtype=torch.float32))
        self.right = nn.Parameter(torch.arange(levels, dtype=torch.float32))
        weights = torch.tensor(LUMA)
        self.register_buffer("weights", weights * torch.tensor(spec.std), persistent=False)
        self.register_buffer("offset", (weights * torch.tensor(spec.mean)).sum(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 3, H, W) normalised images → (B, levels²)."""
        grey = torch.einsum("bchw,c->bhw", x.float(), self.weights) + self.offset  # in [0, 1]
        level = self.levels * grey
        u, v = level[:, :, :-1].flatten(1), level[:, :, 1:].flatten(1)  # (B, P)
        above = (u[:, None] - self.left[:, None]).clamp(0, 1)  # (B, levels, P)
        beside = (v[:, None] - self.right[:, None]).clamp(0, 1)
        return (above @ beside.mT / u.shape[1]).flatten(1)
