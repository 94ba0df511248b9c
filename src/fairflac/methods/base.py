"""What a method is: one training step, one prediction, the parameters it trains, and what its docstring says."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from fairflac.types import Batch, Minimise, Network, Output, PairedSampling, TaskSpec


class Method(nn.Module, ABC):
    """A way to train a classifier. Every method is a direct, final child of this class.

    Hyper-parameters are keyword arguments of `__init__` after (net, spec), with the paper's defaults; values that
    belong to a dataset live in its recipe. With `needs_biased_net`, `__init__` takes (net, spec, biased_net).
    """

    name: ClassVar[str]  # the word in the command line, recipes, run directories and tables
    uses_bias_labels: ClassVar[bool] = False  # if False, reading batch.bias raises BiasLabelsHidden
    needs_bias_model: ClassVar[bool] = False  # if True, a stage-1 run provides batch.bias_features and bias_logits
    takes_bias_models: ClassVar[bool] = False  # if True, there may be several of them, one for each attribute
    asks_for_classes: ClassVar[bool] = False  # if True, that bias model must predict the classes of the same data
    bias_model_method: ClassVar[str | None] = None  # which method must have trained it, if that matters
    needs_biased_net: ClassVar[bool] = False  # if True, a second network, trained beside the first, is built as well
    takes_vectors: ClassVar[bool] = True  # if False, it needs images: embeddings of them will not do
    num_views: int = 1  # augmented views per image; a method may choose by its hyper-parameters
    label_share: float = 1.0  # of the training set, whose attribute labels a method with `uses_bias_labels` gets

    net: Network

    def __init__(self, net: Network, spec: TaskSpec) -> None:
        super().__init__()
        self.net = net
        self.spec = spec

    @classmethod
    def num_logits(cls, spec: TaskSpec) -> int:
        """How many numbers `net` puts out."""
        return spec.num_classes

    @classmethod
    def num_biased_logits(cls, spec: TaskSpec) -> int:
        """How many numbers the biased network puts out."""
        return spec.num_classes

    def prepare(self, training_set: Batch) -> None:
        """Look at the whole training set, in index order and without images, once before training or going on."""

    def begin_epoch(self, epoch: int, training_set: Iterable[Batch]) -> None:
        """Hear which epoch is about to start, or to go on; the first is 0.

        `training_set` is read when it is asked for: every image once, in index order, not augmented.
        """

    def sample_weights(self) -> Tensor | None:
        """(N,) how often each sample is drawn in comparison to others; None: every sample once an epoch."""
        return None

    def paired_sampling(self) -> PairedSampling | None:
        """Which samples every batch has a share of; None: batches as they come."""
        return None

    @abstractmethod
    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        """One training step; returns what to log (scalars, detached)."""

    def predict(self, x: Tensor) -> Tensor:
        """(B, C) logits. Needs no bias."""
        return self.net(x).logits

    def advice(self, means: Mapping[str, float]) -> str | None:
        """What a user should hear after an epoch with these mean logs, if anything."""
        return None

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        """One optimiser for each entry."""
        return {"net": self.net.parameters()}


@torch.no_grad()
def ask(network: Network, x: Tensor) -> Output:
    """What a network that is being trained says in eval mode, without gradients."""
    training = network.training
    output = network.eval()(x)
    network.train(training)
    return output


class MethodDescription(NamedTuple):
    """The parts of a method's docstring."""

    headline: str
    body: str
    paper: str
    deviations: str


def describe(method: type[Method]) -> MethodDescription:
    """Docstrings have a headline, some text, and paragraphs that begin with `Paper:` and `Deviations:`."""
    text, _, deviations = (inspect.getdoc(method) or "").partition("Deviations:")
    text, _, paper = text.partition("Paper:")
    headline, _, body = text.partition("\n")
    return MethodDescription(headline.strip(), body.strip(), _joined(paper), _joined(deviations))


def _joined(paragraph: str) -> str:
    return " ".join(paragraph.split())
