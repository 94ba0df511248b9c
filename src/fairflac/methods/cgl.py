"""CGL: guess the attribute of most images from the labels of a few, admit doubt, then ask for independence."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.losses.gather import gather
from fairflac.losses.hsic import hsic
from fairflac.losses.reweighting import SampleTable
from fairflac.methods.base import Method, ask
from fairflac.methods.ssa import split_by_group
from fairflac.types import Batch, Minimise, Network, TaskSpec

TEACHING = 0.8  # of the labelled images of each group; the others find the threshold (the paper's)


@final
class CGL(Method):
    """Confidence-based group labels: attributes guessed where that is safe and drawn where not, then FairHSIC.

    In the first `estimation_epochs` a predictor of the attribute learns from batches of labelled images, 80 % of those
    of every group of class and attribute. On the other 20 % the threshold is found that best tells its right guesses
    from its wrong ones by their confidence. From then on an image's attribute is its label; without one it is the
    guess, if its confidence reaches the threshold; or else it is drawn from P(bias | y) of the labelled images. The
    classifier is trained with

        L = CE + lam * Σ_y HSIC(features, bias | y),

    all classes drawn equally often. HSIC is the unbiased estimator, on features of length 1 and one-hot attributes,
    with RBF kernels whose σ² is the mean squared distance in the batch.

    Paper: Jung et al., Learning Fair Classifiers with Partially Annotated Group Labels, CVPR 2022, Section 4; with
    FairHSIC: Quadrianto et al., Discovering Fair Representations in the Data Domain, CVPR 2019.
    Deviations: of the fair learners that the paper combines with, FairHSIC alone. Labels are of a random share of all
    images; the authors take that share of every group. Samples are drawn with replacement and an epoch stays as long as
    the training set; the authors repeat small classes until all are as large as the largest. Both stages share epochs,
    schedule and Adam (70 epochs for the predictor in the paper). `balance` = "groups" is not the authors': it draws all
    groups of class and guessed attribute equally often, which alone undoes most of a shortcut.
    """

    name: ClassVar[str] = "cgl"
    uses_bias_labels: ClassVar[bool] = True
    needs_biased_net: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        biased_net: Network,
        *,
        label_share: Annotated[float, Field(gt=0, le=1)] = 0.1,  # the paper's
        estimation_epochs: Annotated[int, Field(ge=1)] = 5,  # ours
        lam: Annotated[float, Field(ge=0)] = 1.0,  # the released code's default; its examples have 100
        balance: Literal["classes", "groups"] = "classes",
    ) -> None:
        super().__init__(net, spec)
        self.predictor = biased_net
        self.label_share = label_share
        self.estimation_epochs = estimation_epochs
        self.lam, self.balance = lam, balance
        self.guess, self.confidence = SampleTable(decay=0), SampleTable(decay=0)
        self.attributes: Tensor | None = None  # (N,) once they are guessed

    @classmethod
    def num_biased_logits(cls, spec: TaskSpec) -> int:
        return spec.num_bias

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"net": [*self.net.parameters()], "predictor": [*self.predictor.parameters()]}

    def prepare(self, training_set: Batch) -> None:
        self.y, self.bias = training_set.y, training_set.bias
        labelled = (self.bias >= 0).nonzero()[:, 0]
        teach = split_by_group((self.y * self.spec.num_bias + self.bias)[labelled], TEACHING)
        if not teach.any():
            raise UserError("'cgl' needs two labelled images of some class and attribute: raise label_share")
        self.checks = labelled[~teach]
        self.teaches = torch.zeros(len(self.y), device=self.y.device).index_fill(0, labelled[teach], 1)  # (N,)
        self.guess.resize(len(self.y))
        self.confidence.resize(len(self.y))

    def begin_epoch(self, epoch: int, training_set: Iterable[Batch]) -> None:
        if epoch < self.estimation_epochs or self.attributes is not None:
            return
        if self.guess.values.isnan().any():  # unless a checkpoint had them
            for batch in training_set:
                confidence, guess = ask(self.predictor, batch.x).logits.float().softmax(1).max(1)
                self.confidence.values[batch.index], self.guess.values[batch.index] = confidence, guess.float()
        self.attributes = self._guessed()

    def sample_weights(self) -> Tensor:
        if self.attributes is None:
            return self.teaches
        group = self.y if self.balance == "classes" else self.y * self.spec.num_bias + self.attributes
        return 1 / group.bincount()[group]

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        return self._estimate(batch, minimise) if self.attributes is None else self._train(batch, minimise)

    def _estimate(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        loss = F.cross_entropy(self.predictor(batch.x).logits, batch.bias)
        minimise(loss, "predictor")
        return {"loss": loss.detach(), "hsic": torch.zeros_like(loss).detach()}

    def _train(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        assert self.attributes is not None
        output = self.net(batch.x)
        ce = F.cross_entropy(output.logits, batch.y)
        # Dependence is a matter of the batch of all processes.
        features, y = gather(F.normalize(output.features)), gather(batch.y)
        values = torch.arange(self.spec.num_bias, device=features.device)
        bias = (gather(self.attributes[batch.index])[:, None] == values).to(features.dtype)  # one-hot
        classes = [(features[y == c], bias[y == c]) for c in range(self.spec.num_classes)]
        dependence = torch.stack([hsic(*members, sigma="mean") for members in classes]).sum()
        loss = ce + self.lam * dependence
        minimise(loss, "net")
        return {"loss": loss.detach(), "hsic": dependence.detach()}

    def _guessed(self) -> Tensor:
        """(N,) labels, sure guesses, and draws from P(bias | y) for all others."""
        labelled = self.bias >= 0
        cells = (self.y * self.spec.num_bias + self.bias)[labelled]
        counts = cells.bincount(minlength=self.spec.num_classes * self.spec.num_bias)
        odds = counts.view(self.spec.num_classes, -1).cpu().double() + 1e-9  # a class without labels: anything
        drawn = torch.multinomial(odds[self.y.cpu()], 1, generator=torch.Generator().manual_seed(0))[:, 0]
        right = self.guess.values[self.checks] == self.bias[self.checks]
        limit = best_threshold(self.confidence.values[self.checks], right)
        guess = torch.where(self.confidence.values >= limit, self.guess.values.long(), drawn.to(self.y.device))
        return torch.where(labelled, self.bias, guess)


def best_threshold(confidence: Tensor, right: Tensor) -> Tensor:
    """(M,) confidences and whether the guess was right → the () cut for which "sure" most often means "right"."""
    cuts = torch.cat([confidence, confidence.new_tensor([torch.inf])]).sort().values
    hits = ((confidence >= cuts[:, None]) == right).sum(1)
    return cuts[hits.argmax()]
