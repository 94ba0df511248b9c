"""HEX: classify by what grey-level statistics of the image cannot explain."""

from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.data.pixels.augment import LUMA
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.system.hardware import finest_float
from fairflac.types import Batch, Minimise, Network, TaskSpec

WIDTH = 32  # of the texture representation [released code]
ROUNDING = 1e-4  # of a level: a grey that should be whole must not fall short of it


@final
class HEX(Method):
    """Superficial statistics projected out: a texture branch predicts as well, and only the rest is trained.

    With h the features of the network, g those of the texture branch (`CoOccurrence`, a layer with ReLU, and each
    feature brought to length 1 over the batch) and one linear classifier f on both, F_A = f([h; g]), F_P = f([h; 0]),
    F_G = f([0; g]):

        F_L = (I - F_G (F_Gᵀ F_G)⁻¹ F_Gᵀ) F_A over the batch,    L = CE(F_L, y),    prediction F_P.

    Paper: Wang et al., Learning Robust Representations by Projecting Superficial Statistics Out, ICLR 2019, Section 3.
    Deviations: a ridge keeps the inverse finite. Both parts of f have a bias, so that f([h; 0]) is the network as it
    is. h is not brought to length 1 over the batch, by which a prediction would depend on other test images. Neighbours
    are those to the left and levels 16, as in the authors' experiments on digits (128 for their AlexNet). From scratch,
    where they fine-tune.
    """

    name: ClassVar[str] = "hex"
    takes_vectors: ClassVar[bool] = False  # it looks at textures

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
        mapped = nn.Linear(levels**2, WIDTH)
        nn.init.zeros_(mapped.bias)  # [released code]; else features that are all offset would be blown up
        self.texture = nn.Sequential(CoOccurrence(spec, levels), mapped, nn.ReLU())
        self.texture_head = nn.Linear(WIDTH, spec.num_classes)

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        # Lengths and the projection are over the batch of all processes.
        y, logits, texture = gather(batch.y), gather(self.net(batch.x).logits), gather(self.texture(batch.x))
        # In fp64 where the device has it: a feature that one image alone has is 1 whatever its size, and the gradient
        # that is left of it by rounding would be made a step by Adam. In fp16 the smallest length would be zero.
        by_texture = self.texture_head(F.normalize(texture.to(finest_float(texture.device)), dim=0).float())  # F_G
        everything = logits + by_texture  # F_A
        rest = project_out(everything, by_texture, self.ridge)
        loss = F.cross_entropy(rest, y)
        minimise(loss)
        kept = rest.detach().norm() / everything.detach().float().norm().clamp_min(1e-12)
        return {"loss": loss.detach(), "kept": kept}

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        texture = [*self.texture.parameters(), *self.texture_head.parameters()]
        return {"net": list(self.net.parameters()), "texture": texture}


class CoOccurrence(nn.Module):
    """A neural grey-level co-occurrence matrix, with thresholds that are learnt.

    An image is grey, scaled so that its brightest pixel has the highest level, and rounded down to whole levels u. With
    d = left neighbour - u (-u at the left edge), entry (j, k) is the sum over pixels of step(d - a_j) step(u - b_k),
    where step rises from 0 to 1 within a level: counts that are cumulative, and have a gradient in every threshold.
    """

    weights: Tensor  # from normalised channels to grey in [0, 1]
    offset: Tensor

    def __init__(self, spec: TaskSpec, levels: int) -> None:
        super().__init__()
        self.levels = levels
        self.of_difference = nn.Parameter(levels * torch.rand(levels))  # a
        self.of_pixel = nn.Parameter(levels * torch.rand(levels))  # b
        weights = torch.tensor(LUMA)
        self.register_buffer("weights", weights * torch.tensor(spec.std), persistent=False)
        self.register_buffer("offset", (weights * torch.tensor(spec.mean)).sum(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, 3, H, W) normalised images → (B, levels²)."""
        grey = (torch.einsum("bchw,c->bhw", x.float(), self.weights) + self.offset).clamp_min(0)  # to 1
        brightest = grey.amax((1, 2), keepdim=True).clamp_min(1e-6)
        pixel = ((self.levels - 1) * (grey / brightest) + ROUNDING).floor()
        left = F.pad(pixel, (1, 0))[:, :, :-1]
        above = ((left - pixel).flatten(1)[:, None] - self.of_difference[:, None]).clamp(0, 1)  # (B, levels, P)
        beside = (pixel.flatten(1)[:, None] - self.of_pixel[:, None]).clamp(0, 1)
        return (above @ beside.mT).flatten(1)


FLOOR = 1e-6  # keeps columns of zeros, and their gradients, finite


def project_out(a: Tensor, g: Tensor, ridge: float = 1e-4) -> Tensor:
    """(N, C), (N, K) → (N, C): (I - G (GᵀG + r I)⁻¹ Gᵀ) A, with r = `ridge` times the mean diagonal of GᵀG.

    Without a ridge this is HEX's projection (Wang et al., ICLR 2019, Section 3), whose inverse does not exist when
    columns of G depend on each other or when the batch has fewer samples than columns. It is computed in fp64 where the
    device has it: what flows back to G is a small difference of large numbers.
    """
    with torch.autocast(a.device.type, enabled=False):
        dtype = finest_float(a.device)
        shown = a.dtype if a.dtype == torch.float64 else torch.float32
        a, g = a.to(dtype), g.to(dtype)
        gram = g.T @ g
        r = ridge * gram.diagonal().mean() + FLOOR
        inner = torch.linalg.solve(gram + r * torch.eye(len(gram), dtype=dtype, device=gram.device), g.T @ a)
        rest: Tensor = (a - g @ inner).to(shown)
        return rest
