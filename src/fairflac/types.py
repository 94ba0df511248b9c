"""The words that every part of the package shares: what a batch, a task, a network and an update are."""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from torch import Tensor, nn

from fairflac.errors import UserError


class BiasLabelsHidden(RuntimeError):
    """A method that did not declare `uses_bias_labels` tried to read them."""


class BiasModelMissing(RuntimeError):
    """A method that did not declare `needs_bias_model` tried to read its output."""


class NoMiddle(UserError, AttributeError):
    """A network without maps was asked for the one halfway through."""


class PairedSampling(NamedTuple):
    """Which samples every batch has a share of, so that both kinds of pairs are in it."""

    group: Tensor  # (N,) int64: the number of a scarce sample's group, which come in turn; -1 for all others
    share: float  # of a batch


class Output(NamedTuple):
    """What every network returns."""

    logits: Tensor  # (B, C)
    features: Tensor  # (B, D), the penultimate representation, not normalised


class Network(nn.Module, ABC):
    """A classifier that shows its penultimate representation."""

    frozen: ClassVar[bool] = False  # if True, a part of it, `backbone`, is never trained: see `embed`
    feature_dim: int
    fc: nn.Linear  # from features to logits
    middle: str  # the submodule whose output is a map halfway through, for adversaries that listen there; if it can
    middle_dim: int  # its channels

    @abstractmethod
    def forward(self, x: Tensor) -> Output: ...

    def embed(self, x: Tensor) -> Tensor:
        """(B, 3, H, W) → (B, E), what the frozen part makes of images; `forward` takes that as well as images."""
        raise NotImplementedError(f"no part of {type(self).__name__} is frozen")

    def __call__(self, x: Tensor) -> Output:
        output: Output = super().__call__(x)
        return output

    def __getattr__(self, name: str) -> Any:
        if name in ("middle", "middle_dim"):
            kind = type(self).__name__
            raise NoMiddle(f"this method listens to a map inside the network, and {kind} has none: choose another")
        return super().__getattr__(name)


@dataclass(frozen=True)
class Attribute:
    """One bias attribute: its values, and which of them goes with each class."""

    values: tuple[str, ...]
    aligned: tuple[int, ...]  # aligned[y] is the value that class y is correlated with
    min_cell: int = 1  # images that a group of class and value needs for its accuracy to count
    repeats: str | None = None  # what it is one of several measurements of: their scores are averaged


@dataclass(frozen=True)
class TaskSpec:
    """What a network must know of the data, and all that is needed to use it later."""

    classes: tuple[str, ...]
    attributes: dict[str, Attribute]  # empty when no attribute is known
    image_size: tuple[int, int]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    @property
    def num_classes(self) -> int:
        return len(self.classes)

    @property
    def num_bias(self) -> int:
        """K: how many values `batch.bias` can have, which numbers the combinations of all attributes."""
        return math.prod(len(attribute.values) for attribute in self.attributes.values())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "TaskSpec":
        attributes = {
            name: Attribute(tuple(a["values"]), tuple(a["aligned"]), a.get("min_cell", 1), a.get("repeats"))
            for name, a in stored["attributes"].items()
        }
        rest = {key: tuple(stored[key]) for key in ("classes", "image_size", "mean", "std")}
        return cls(attributes=attributes, **rest)


@dataclass(frozen=True)
class Batch:
    """One step's samples on one process, or all samples of the training set without their images.

    Labels that a method did not declare are out of its reach.
    """

    views: tuple[Tensor, ...]  # num_views tensors (B, 3, H, W), differently augmented
    y: Tensor  # (B,)
    index: Tensor  # (B,) position in the training set
    _bias: Tensor | None = field(default=None, repr=False)  # (B,)
    _bias_output: Output | None = field(default=None, repr=False)  # of the bias model
    _other_bias_outputs: tuple[Output, ...] = field(default=(), repr=False)  # of those of further attributes

    @property
    def x(self) -> Tensor:
        """The first (often the only) view."""
        return self.views[0]

    @property
    def bias(self) -> Tensor:
        """(B,) below `TaskSpec.num_bias`; -1 where a method gets the labels of a share of the samples only."""
        if self._bias is None:
            raise BiasLabelsHidden("bias labels are hidden: declare `uses_bias_labels = True` to train with them")
        return self._bias

    @property
    def bias_features(self) -> Tensor:
        """(B, D_b) features of the bias model for these samples, without gradients."""
        return self._from_bias_model().features

    @property
    def bias_logits(self) -> Tensor:
        """(B, C_b) what the bias model predicts for these samples, without gradients."""
        return self._from_bias_model().logits

    @property
    def bias_outputs(self) -> tuple[Output, ...]:
        """What all bias models say: of several attributes each has its own, and the first is that of `bias_logits`."""
        return (self._from_bias_model(), *self._other_bias_outputs)

    def _from_bias_model(self) -> Output:
        if self._bias_output is None:
            raise BiasModelMissing("there is no bias model: declare `needs_bias_model = True` to train with one")
        return self._bias_output


class Minimise(Protocol):
    """The engine's update: gradients, averaging, clipping and optimiser step of the named groups and nothing else.

    Without names every group is updated.
    """

    def __call__(self, loss: Tensor, *groups: str) -> None: ...
