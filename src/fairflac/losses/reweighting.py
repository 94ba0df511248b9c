"""Losses and weights that make some samples count more: easy ones, hard ones, rare ones, those of a bad group."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.losses.gather import gather
from fairflac.system.hardware import finest_float
from fairflac.types import Batch, BiasModelMissing, Output, PairedSampling


def gce_loss(logits: Tensor, y: Tensor, q: float = 0.7) -> Tensor:
    """Generalised cross-entropy, (1 - p_y^q) / q: a model that minimises it follows what it finds easy, the shortcut.

    Zhang and Sabuncu, NeurIPS 2018, Eq. 6. Its gradient is p_y^q times that of cross-entropy.

    Args:
        logits: (B, C).
        y: (B,) classes.
        q: towards 0 it is cross-entropy, at 1 the mean absolute error.

    Returns:
        (B,) losses.

    Example:
        >>> gce_loss(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0]))
        tensor([0.1215, 1.1062])
    """
    log_p = -F.cross_entropy(logits.float(), y, reduction="none")
    return (1 - (q * log_p).exp()) / q


NEVER = 1e-9  # stands for a probability of 0, so that its log is finite


def class_given_bias(y: Tensor, bias: Tensor, weights: Tensor, *, num_classes: int, num_bias: int) -> Tensor:
    """P(y | b): how frequent each class is where the attribute has a value; the prior of `bias_balanced_loss`.

    Args:
        y: (N,) classes of the training set.
        bias: (N,) attribute values.
        weights: (N,) how often each sample is drawn.
        num_classes: C.
        num_bias: K, how many values the attribute has.

    Returns:
        (K, C) in float64 (float32 on Apple's GPUs), row b is P(y | b); 0 in the row of a value that no sample has.

    Example:
        >>> y, bias = torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 1, 1])
        >>> class_given_bias(y, bias, torch.ones(4), num_classes=2, num_bias=2).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    mass = torch.zeros(num_bias * num_classes, dtype=finest_float(y.device), device=y.device)
    table = mass.index_add(0, bias * num_classes + y, weights.to(mass.dtype)).view(num_bias, num_classes)
    return table / table.sum(1, keepdim=True).clamp_min(torch.finfo(table.dtype).tiny)


def bias_balanced_loss(logits: Tensor, y: Tensor, bias: Tensor, prior: Tensor) -> Tensor:
    """Cross-entropy with the prior of the attribute added to the logits: mean CE(h(x) + log P(y | b), y).

    Hong and Yang, NeurIPS 2021 (BiasBal). A model that knows nothing but the attribute does best with logits that are
    all the same. The logits of the caller stay as they are.

    Args:
        logits: (B, C).
        y: (B,) classes.
        bias: (B,) attribute values.
        prior: (K, C) P(y | b) of the distribution that the samples come from, see `class_given_bias`.

    Returns:
        () the loss.

    Example:
        >>> prior = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
        >>> bias_balanced_loss(torch.zeros(4, 2), torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 1, 1]), prior)
        tensor(0.3466)
    """
    log_prior = (prior + NEVER).log().float()
    return F.cross_entropy(logits.float() + log_prior[bias], y)


Balance = Literal["batches", "logits", "pairs"]
PAIR_SHARE, PAIR_REPEATS = 0.25, 3.0  # at most, of a batch and in the place of once; ours (docs/flac-plus.md)


class BalancedGroups:
    """Groups of class and guessed attribute that count alike in training, by what is drawn or by the logits.

    Args:
        balance: `batches` draws each group equally often; `logits` adds log P(y | guess) as `bias_balanced_loss` does;
            `pairs` gives every batch a share of the samples whose guess is not the usual one of their class, their
            groups in turn. A row j of S has both kinds of pairs where the batch has a sample of its class with another
            guess, and one of another class with its guess. For those that go with their class, which are most, either
            is such a scarce sample; for a scarce one both are samples as they come.
        num_classes: C.
        share: of a batch, with `pairs`. Without it scarce samples come three times as often as they would, a quarter of
            a batch at most, so that the few there are of a strong shortcut are not learnt by heart.
    """

    def __init__(self, balance: Balance, num_classes: int, share: float | None = None) -> None:
        self.balance, self.num_classes, self.share = balance, num_classes, share
        self.paired: PairedSampling | None = None
        self.weights: Tensor | None = None  # (N,) how often each sample is drawn
        self.log_prior: Tensor | None = None  # (K, C)

    def start(self, training_set: Batch) -> None:
        """Count the groups of the whole training set, in index order."""
        try:
            logits = joint_logits(training_set.bias_outputs)
        except BiasModelMissing:
            raise UserError(
                "balance asks the bias model about all images before training: leave bias_features = 'cached'"
            ) from None
        guess, y = logits.argmax(1), training_set.y
        group = guess * self.num_classes + y
        if self.balance == "batches":
            self.weights = 1 / group.bincount()[group]
            return
        if self.balance == "pairs":
            counts = group.bincount(minlength=logits.shape[1] * self.num_classes).view(-1, self.num_classes)
            scarce = guess != counts.argmax(0)[y]
            number = torch.full_like(group, -1)
            number[scarce] = group[scarce].unique(return_inverse=True)[1]
            repeated = PAIR_REPEATS * scarce.double().mean().item()
            self.paired = PairedSampling(number, self.share or min(PAIR_SHARE, repeated))
            return
        sizes = {"num_classes": self.num_classes, "num_bias": logits.shape[1]}
        prior = class_given_bias(y, guess, torch.ones(len(y), device=y.device), **sizes)
        self.log_prior = (prior + NEVER).log().float()

    def adjusted(self, logits: Tensor, bias_logits: Tensor) -> Tensor:
        """(B, C) what cross-entropy sees in training: with the prior of the guess, or as they are."""
        return logits if self.log_prior is None else logits.float() + self.log_prior[bias_logits.argmax(1)]


def joint_logits(outputs: Sequence[Output]) -> Tensor:
    """(B, K₁) … of several bias models → (B, K₁ · K₂ · …) log-probabilities of every combination of their values.

    Of one bias model its logits. The largest is the combination of the guesses.
    """
    joint = outputs[0].logits
    for other in outputs[1:]:
        joint = (joint.log_softmax(1)[:, :, None] + other.logits.log_softmax(1)[:, None]).flatten(1)
    return joint


class GroupWeights(nn.Module):
    """GroupDRO's weights q: groups with a high loss count more.

    Sagawa et al., ICLR 2020, Algorithm 1. For the groups g of a batch, of mean loss l_g,

        q_g ← q_g exp(eta_q (l_g + adjustment / √n_g)),  scaled to Σ_g q_g = 1.

    A group that is absent from a batch keeps its q but for the common scale, and one that the training set does not
    have gets none. Call `start` with the sizes of the groups, then the module with each batch.

    Args:
        groups: G, how many there are.
        eta_q: step size of q.
        adjustment: of small groups, of n_g samples in the training set.

    Example:
        >>> weights = GroupWeights(2, eta_q=1.0)
        >>> weights.start(torch.tensor([90, 10]))
        >>> loss, worst = weights(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0, 0, 1]))
        >>> loss, weights.q
        (tensor(0.7311), tensor([0.2689, 0.7311]))
    """

    q: Tensor  # (G,)
    margin: Tensor  # (G,) adjustment / √n_g

    def __init__(self, groups: int, eta_q: float, adjustment: float = 0.0) -> None:
        super().__init__()
        self.eta_q = eta_q
        self.adjustment = adjustment
        self.register_buffer("q", torch.full((groups,), 1 / groups))
        self.register_buffer("margin", torch.zeros(groups), persistent=False)  # `start` knows it again

    def start(self, sizes: Tensor) -> None:
        """(G,) samples of each group in the training set: all groups that have any begin with the same weight."""
        self.q = (sizes > 0) / (sizes > 0).sum()
        self.margin = self.adjustment / sizes.clamp_min(1).sqrt()

    def forward(self, values: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of a batch, of all processes.

        Args:
            values: (B,) losses.
            group: (B,) below G.

        Returns:
            () Σ_g q_g l_g with the new q, and () the largest l_g.
        """
        losses, present = group_means(values, group, len(self.q))
        with torch.no_grad():
            grown = self.q * torch.where(present, self.eta_q * (losses + self.margin), 0).exp()
            self.q = grown / grown.sum()
        return self.q @ losses, torch.where(present, losses, 0).max().detach()


def group_means(values: Tensor, group: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """(B,) values by group → (G,) means, 0 where the batch has none, and (G,) whether it has any."""
    sums, counts = (values.new_zeros(groups).index_add(0, group, x) for x in (values, torch.ones_like(values)))
    return sums / counts.clamp_min(1), counts > 0


class SampleTable(nn.Module):
    """Moving averages by sample index: the first visit sets the value, later ones move it by 1 - `decay`.

    It starts empty and gets its size by `resize`, or from a saved state, so that a model can be loaded without its
    training set.
    """

    values: Tensor  # (N,), NaN until a sample is seen

    def __init__(self, decay: float) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("values", torch.empty(0))

    def resize(self, n: int) -> None:
        """Forget everything, and have room for n samples."""
        self.values = torch.full((n,), torch.nan, device=self.values.device)

    def update(self, index: Tensor, values: Tensor) -> Tensor:
        """(B,), (B,) of this process → (B,) averages; the table is the same on all processes afterwards."""
        with torch.no_grad():
            everyone, new = gather(index), gather(values.detach().float())
            old = self.values[everyone]
            self.values[everyone] = torch.where(old.isnan(), new, self.decay * old + (1 - self.decay) * new)
            return self.values[index]

    def class_maxima(self, y: Tensor, num_classes: int) -> Tensor:
        """(N,) classes of the training set → (C,) largest value seen in each class; -inf where none was."""
        seen = torch.where(self.values.isnan(), -torch.inf, self.values)
        return seen.new_full((num_classes,), -torch.inf).scatter_reduce(0, y, seen, "amax")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        stored = state_dict.get(f"{prefix}values")
        if isinstance(stored, Tensor):
            self.values = torch.empty_like(stored, device=self.values.device)
        super()._load_from_state_dict(state_dict, prefix, *args)


TINY = 1e-8  # as in LfF's public code; a sample that is hard for neither model weighs nothing


class RelativeDifficulty(nn.Module):
    """LfF's relative difficulty: samples that a biased model finds hard, and another one does not, count more.

    W(x) = L_B / (L_B + L_D), Nam et al., NeurIPS 2020. L_B and L_D are moving averages of each sample's own losses
    under the two models, divided by the largest of its class in the training set, so that no class counts more because
    it is harder. Both tables are saved with the model. Call `prepare` with the classes of the training set first.

    Args:
        num_classes: C.
        decay: share of the old value that a moving average keeps.

    Example:
        >>> weights = RelativeDifficulty(2, decay=0.7)
        >>> weights.prepare(torch.tensor([0, 0, 1]))
        >>> weights(torch.tensor([0, 1]), biased=torch.tensor([0.1, 2.0]), debiased=torch.tensor([0.1, 0.5]))
        tensor([0.2000, 0.5000])
    """

    y: Tensor  # (N,) classes of the training set, which brings them anew

    def __init__(self, num_classes: int, decay: float) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.biased, self.debiased = SampleTable(decay), SampleTable(decay)
        self.register_buffer("y", torch.empty(0, dtype=torch.int64), persistent=False)

    def prepare(self, y: Tensor) -> None:
        """(N,) classes in index order; forgets all losses."""
        self.y = y
        for table in (self.biased, self.debiased):
            table.resize(len(y))

    @torch.no_grad()
    def forward(self, index: Tensor, biased: Tensor, debiased: Tensor) -> Tensor:
        """The weights of a batch; without gradients.

        Args:
            index: (B,) positions in the training set.
            biased: (B,) losses under the biased model.
            debiased: (B,) losses under the other one.

        Returns:
            (B,) W(x), from 0 to 1.
        """
        hard_for_biased = self._relative(self.biased, index, biased)
        hard_for_debiased = self._relative(self.debiased, index, debiased)
        return hard_for_biased / (hard_for_biased + hard_for_debiased + TINY)

    def _relative(self, table: SampleTable, index: Tensor, losses: Tensor) -> Tensor:
        averages = table.update(index, losses)
        # Losses that have all become 0 stay 0, instead of 0 / 0.
        largest = table.class_maxima(self.y, self.num_classes).clamp_min(torch.finfo(averages.dtype).tiny)
        return averages / largest[self.y[index]]
