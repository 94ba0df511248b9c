"""SSA: guess the attribute of most images from the labels of a few, then train for the worst group."""

import copy
from collections.abc import Iterable
from typing import Annotated, ClassVar, cast, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.losses.gather import gather
from fairflac.losses.reweighting import GroupWeights, SampleTable
from fairflac.methods.base import Method, ask
from fairflac.system.hardware import finest_float
from fairflac.types import Batch, Minimise, Network, TaskSpec


@final
class SSA(Method):
    """Spread spurious attribute: GroupDRO on guessed attributes, learnt from a few labels.

    In the first `estimation_epochs` the unlabelled images are cut into folds, and for each fold a predictor of the
    attribute learns from all others: L = CE(a) on labelled images, half of a batch, + CE(â) on unlabelled ones whose
    guess â has a confidence of at least τ_g, g = (y, â). For the smallest labelled group τ_g is `tau`; for the others
    it is so high that they do not outnumber that one. From then on an image's attribute is its label, or the guess of
    the predictor that never learnt from it, and GroupDRO trains the classifier on these groups.

    Paper: Nam et al., Spread Spurious Attribute: Improving Worst-group Accuracy with Spurious Attribute Estimation,
    ICLR 2022, Section 3.
    Deviations: labelled images are a random share of the training set (the paper takes the validation set). Half of
    each group of them train the predictors and the other half measures them, in the logs; no snapshot is selected.
    Labelled and unlabelled images share a batch. Thresholds are updated in every step, from the last guess on each
    image. Both stages share epochs, schedule and Adam (SGD in the
    paper).
    """

    name: ClassVar[str] = "ssa"
    uses_bias_labels: ClassVar[bool] = True
    needs_biased_net: ClassVar[bool] = True
    started: Tensor  # () whether GroupDRO has begun

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        biased_net: Network,
        *,
        label_share: Annotated[float, Field(gt=0, le=1)] = 0.1,  # ours
        estimation_epochs: Annotated[int, Field(ge=1)] = 5,  # ours
        folds: Annotated[int, Field(ge=2)] = 3,  # the paper's
        tau: Annotated[float, Field(gt=0, lt=1)] = 0.95,  # the paper's
        eta_q: Annotated[float, Field(ge=0)] = 0.01,  # GroupDRO's
    ) -> None:
        super().__init__(net, spec)
        self.label_share = label_share
        self.estimation_epochs = estimation_epochs
        self.tau = tau
        self.predictors = nn.ModuleList([biased_net, *(copy.deepcopy(biased_net) for _ in range(folds - 1))])
        self.guesses = nn.ModuleList(SampleTable(decay=0) for _ in range(folds))
        self.confidences = nn.ModuleList(SampleTable(decay=0) for _ in range(folds))
        self.groups = GroupWeights(spec.num_classes * spec.num_bias, eta_q)
        self.register_buffer("started", torch.tensor(False))
        self.group: Tensor | None = None  # (N,) once the attributes are guessed

    @classmethod
    def num_biased_logits(cls, spec: TaskSpec) -> int:
        return spec.num_bias

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        return {"net": [*self.net.parameters()], "predictors": [*self.predictors.parameters()]}

    def prepare(self, training_set: Batch) -> None:
        self.y, self.bias = training_set.y, training_set.bias
        order = torch.randperm(len(self.y), generator=torch.Generator().manual_seed(0)).to(self.y.device)
        self.fold = order % len(self.predictors)
        self.labelled = self.bias >= 0
        if not self.labelled.any():
            raise UserError("'ssa' needs a labelled image: raise label_share")
        self.teaches = self.labelled.clone()
        self.teaches[self.labelled] = ~split_by_group(self._group(self.y, self.bias)[self.labelled], 0.5)
        for table in (*self.guesses, *self.confidences):
            cast(SampleTable, table).resize(len(self.y))

    def begin_epoch(self, epoch: int, training_set: Iterable[Batch]) -> None:
        if epoch < self.estimation_epochs:
            return
        if not self.started:
            self._guess(training_set)
        self.group = self._group(self.y, self.attributes())
        if not self.started:
            self.groups.start(self.group.bincount(minlength=len(self.groups.q)))
            self.started = torch.ones_like(self.started)

    def sample_weights(self) -> Tensor:
        part = self.teaches.long() if self.group is None else self.group
        return 1 / part.bincount()[part]

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        return self._estimate(batch, minimise) if self.group is None else self._train(batch, minimise)

    def attributes(self) -> Tensor:
        """(N,) labels, and guesses where there is none."""
        guesses = torch.stack([cast(SampleTable, table).values for table in self.guesses])
        guess = guesses[self.fold, torch.arange(len(self.fold), device=self.fold.device)]
        return torch.where(self.labelled, self.bias, guess.long())

    def _guess(self, training_set: Iterable[Batch]) -> None:
        """Ask every predictor about every image."""
        for batch in training_set:
            for predictor, guesses, confidences in zip(self.predictors, self.guesses, self.confidences, strict=True):
                confidence, guess = ask(cast(Network, predictor), batch.x).logits.float().softmax(1).max(1)
                cast(SampleTable, guesses).values[batch.index] = guess.float()
                cast(SampleTable, confidences).values[batch.index] = confidence

    def _estimate(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        """Every predictor learns from the labels, and from its own guesses outside its fold."""
        labelled, teaches = self.labelled[batch.index], self.teaches[batch.index]
        loss = right = batch.y.new_zeros((), dtype=torch.float32)
        for fold, predictor in enumerate(self.predictors):
            logits = predictor(batch.x).logits
            confidence, guess = logits.detach().softmax(1).max(1)
            cast(SampleTable, self.guesses[fold]).update(batch.index, guess)
            cast(SampleTable, self.confidences[fold]).update(batch.index, confidence)
            sure = confidence >= self._limits(fold)[self._group(batch.y, guess)]
            learns = sure & ~labelled & (self.fold[batch.index] != fold)
            ce = F.cross_entropy(logits, torch.where(teaches, batch.bias, guess), reduction="none")
            loss = loss + _mean(ce, teaches) + _mean(ce, learns)
            right = right + _mean((guess == batch.bias).float(), labelled & ~teaches) / len(self.predictors)
        minimise(loss, "predictors")
        return {"loss": loss.detach(), "attribute_accuracy": right}

    def _limits(self, fold: int) -> Tensor:
        """(C · K,) confidences from which on a predictor believes itself."""
        guess, confidence = (cast(SampleTable, t[fold]).values for t in (self.guesses, self.confidences))
        others = ~self.labelled & (self.fold != fold) & ~guess.isnan()
        sizes = self._group(self.y, self.bias)[self.teaches].bincount(minlength=len(self.groups.q))
        return confidence_limits(confidence[others], self._group(self.y, guess.nan_to_num())[others], sizes, self.tau)

    def _train(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        assert self.group is not None
        ce = F.cross_entropy(self.net(batch.x).logits, batch.y, reduction="none")
        loss, _ = self.groups(gather(ce), gather(self.group[batch.index]))
        minimise(loss, "net")
        agree = (self.group[batch.index] == self._group(batch.y, batch.bias)).float()
        return {"loss": loss.detach(), "attribute_accuracy": _mean(agree, batch.bias >= 0)}

    def _group(self, y: Tensor, bias: Tensor) -> Tensor:
        """No two pairs of class and attribute value alike."""
        return y * self.spec.num_bias + bias.long()


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """Over those of all processes; 0 if there are none."""
    chosen = gather(where)
    return (gather(values) * chosen).sum() / chosen.sum().clamp_min(1)


def split_by_group(group: Tensor, share: float) -> Tensor:
    """(M,) groups → (M,) who is in the first part: `share` of every group, rounded down, and the same every time."""
    order = torch.randperm(len(group), generator=torch.Generator().manual_seed(0)).to(group.device)
    order = order[group[order].argsort(stable=True)]  # by group, and within it at random
    sizes = group.bincount()
    first = (sizes.cumsum(0) - sizes)[group[order]]
    rank = torch.empty_like(group)
    rank[order] = torch.arange(len(group), device=group.device) - first
    return rank < (share * sizes.to(finest_float(group.device))).floor()[group]


def confidence_limits(confidence: Tensor, group: Tensor, labelled: Tensor, tau: float) -> Tensor:
    """(M,) confidences and groups of guesses, (G,) labelled samples of each group → (G,) least confidences.

    The smallest group that has labels takes guesses from `tau` on. Each other group g takes as many of its surest as
    leave |D_L(g)| + |D_U(g, τ_g)| at the size of the smallest or below (Nam et al., ICLR 2022, Section 3.2). A limit
    above 1 takes none.
    """
    labels = torch.where(labelled > 0, labelled, labelled.max() + 1)
    smallest = labels.argmin()
    size = labelled[smallest] + ((group == smallest) & (confidence >= tau)).sum()
    room = (size - labelled).clamp_min(0)  # (G,) guesses that fit in
    guesses = group.bincount(minlength=len(labelled))
    # By group, and within it from the surest on; `first` is where a group begins.
    surest = confidence.argsort(descending=True, stable=True)
    by_group = surest[group[surest].argsort(stable=True)]
    first = guesses.cumsum(0) - guesses
    ranked = torch.cat([confidence[by_group], confidence.new_zeros(1)])
    # The surest that does not fit in any more: a limit just above it keeps it out, with all that are as sure.
    excluded = ranked[(first + room).clamp_max(len(confidence))]
    just_above = torch.nextafter(excluded, torch.full_like(excluded, torch.inf))
    limits = torch.where(room >= guesses, 0.0, just_above)
    limits = torch.where(room == 0, torch.inf, limits)
    limits[smallest] = tau
    return limits
