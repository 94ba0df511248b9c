"""CGL: guess the attribute of most images from the labels of a few, admit doubt, then ask for independence."""

from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.losses.gather import gather
from fairflac.losses.hsic import hsic
from fairflac.losses.sample_table import SampleTable
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec

TEACHING = 0.8  # of the labelled images; the others find the threshold (the paper's)


@final
class CGL(Method):
    """Confidence-based group labels: attributes guessed where that is safe and drawn where not, then FairHSIC.

    In the first `estimation_epochs` a predictor of the attribute learns from 80 % of the labelled images. On the other
    20 % the threshold is found that best tells its right guesses from its wrong ones by their confidence. From then on
    an image's attribute is its label; without one it is the guess, if its confidence reaches the threshold; or else it
    is drawn from P(bias | y) of the labelled images. The classifier is trained with

        L = CE + lam * Σ_y HSIC(features, bias | y),

    all groups drawn equally often.

    Paper: Jung et al., Learning Fair Classifiers with Partially Annotated Group Labels, CVPR 2022, Section 4; with
    FairHSIC: Quadrianto et al., Discovering Fair Representations in the Data Domain, CVPR 2019.
    Deviations: of the fair learners that the paper combines with, FairHSIC alone. HSIC is the unbiased estimator, on
    features of length 1 and one-hot attributes, with an RBF kernel of width 1. Guesses and confidences are those of the
    last visit in training. Both stages share epochs, schedule and Adam (70 epochs for the predictor in the paper).
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
        lam: Annotated[float, Field(ge=0)] = 1.0,  # ours; at 100, as in released examples, noise wins
    ) -> None:
        super().__init__(net, spec)
        self.predictor = biased_net
        self.label_share = label_share
        self.estimation_epochs = estimation_epochs
        self.lam = lam
        self.guess, self.confidence = SampleTable(decay=0), SampleTable(decay=0)
        self.attributes: Tensor | None = None  # (N,) once they are guessed

    @classmethod
    def num_biased_logits(cls, spec: TaskSpec) -> int:
        return spec.num_bias

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"net": [*self.net.parameters()], "predictor": [*self.predictor.parameters()]}

    def prepare(self, training_set: Batch) -> None:
        self.y, self.bias = training_set.y, training_set.bias
        self.teaches = self.bias >= 0
        labelled = self.teaches.nonzero()[:, 0]
        order = torch.randperm(len(labelled), generator=torch.Generator().manual_seed(0)).to(labelled.device)
        self.checks = labelled[order[round(TEACHING * len(labelled)) :]]
        self.teaches[self.checks] = False
        self.guess.resize(len(self.y))
        self.confidence.resize(len(self.y))

    def begin_epoch(self, epoch: int) -> None:
        if epoch >= self.estimation_epochs and self.attributes is None:
            self.attributes = self._guessed()

    def sample_weights(self) -> Tensor | None:
        if self.attributes is None:
            return None
        group = self.y * self.spec.num_bias + self.attributes
        return 1 / group.bincount()[group]

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        return self._estimate(batch, minimise) if self.attributes is None else self._train(batch, minimise)

    def _estimate(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        logits = self.predictor(batch.x).logits
        confidence, guess = logits.detach().softmax(1).max(1)
        self.guess.update(batch.index, guess)
        self.confidence.update(batch.index, confidence)
        taught = gather(self.teaches[batch.index])
        ce = gather(F.cross_entropy(logits, batch.bias.clamp_min(0), reduction="none"))
        loss = (ce * taught).sum() / taught.sum().clamp_min(1)
        minimise(loss, "predictor")
        return {"loss": loss.detach(), "hsic": torch.zeros_like(loss).detach()}

    def _train(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        assert self.attributes is not None
        output = self.net(batch.x)
        ce = F.cross_entropy(output.logits, batch.y)
        # Dependence is a matter of the batch of all processes.
        features, y = gather(F.normalize(output.features)), gather(batch.y)
        bias = F.one_hot(gather(self.attributes[batch.index]), self.spec.num_bias).to(features.dtype)
        dependence = torch.stack([hsic(features[y == c], bias[y == c]) for c in range(self.spec.num_classes)]).sum()
        loss = ce + self.lam * dependence
        minimise(loss, "net")
        return {"loss": loss.detach(), "hsic": dependence.detach()}

    def _guessed(self) -> Tensor:
        """(N,) labels, sure guesses, and draws from P(bias | y) for all others."""
        labelled = self.bias >= 0
        cells = (self.y * self.spec.num_bias + self.bias)[labelled]
        counts = cells.bincount(minlength=self.spec.num_classes * self.spec.num_bias)
        odds = counts.view(self.spec.num_classes, -1).double().cpu() + 1e-9  # a class without labels: anything
        drawn = torch.multinomial(odds[self.y.cpu()], 1, generator=torch.Generator().manual_seed(0))[:, 0]
        right = self.guess.values[self.checks] == self.bias[self.checks]
        limit = best_threshold(self.confidence.values[self.checks], right)
        sure = self.confidence.values >= limit  # never for what was not visited
        guess = torch.where(sure, self.guess.values.nan_to_num().long(), drawn.to(self.y.device))
        return torch.where(labelled, self.bias, guess)


def best_threshold(confidence: Tensor, right: Tensor) -> Tensor:
    """(M,) confidences and whether the guess was right → the () cut for which "sure" most often means "right"."""
    cuts = torch.cat([confidence[~confidence.isnan()], confidence.new_tensor([torch.inf])]).sort().values
    hits = ((confidence >= cuts[:, None]) == right).sum(1)
    return cuts[hits.argmax()]
