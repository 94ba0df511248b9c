"""A few fully connected layers, for vectors."""

from itertools import pairwise
from typing import Annotated, final

from pydantic import Field
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.types import Network, Output

Width = Annotated[int, Field(ge=1)]


@final
class MLP(Network):
    """Standardise → [Linear → ReLU] for each of `widths` → Linear, on `inputs` numbers: embeddings, or small images.

    Features are the last of the widths: a debiasing loss has to have something to change, and embeddings stay as they
    are.
    """

    def __init__(
        self, num_classes: int, *, inputs: Width, widths: Annotated[tuple[Width, ...], Field(min_length=1)] = (128,)
    ) -> None:
        super().__init__()
        # The mean over all batches so far: a short training has no time for one that forgets.
        self.standardise = nn.BatchNorm1d(inputs, affine=False, momentum=None)
        sizes = (inputs, *widths)
        self.body = nn.Sequential(*(layer for i, o in pairwise(sizes) for layer in (nn.Linear(i, o), nn.ReLU())))
        self.feature_dim = widths[-1]
        self.fc = nn.Linear(self.feature_dim, num_classes)

    def forward(self, x: Tensor) -> Output:
        x = x.flatten(1)
        if x.shape[1] != self.standardise.num_features:
            raise UserError(f"this mlp takes {self.standardise.num_features} numbers: set inputs to {x.shape[1]}")
        features = self.body(self.standardise(x))
        return Output(self.fc(features), features)
