"""FLAC's loss as a module and as a function."""

from collections.abc import Sequence
from typing import Self, TypedDict, Unpack

import torch
from torch import Tensor, nn

from fairflac.losses.flac.fused import WithGradient, fused_flac
from fairflac.losses.flac.problem import PairProblem, in_s, out_of_reach
from fairflac.losses.flac.several import Combine, check_combine, combined, numbered, told_apart
from fairflac.losses.flac.textbook import (
    Divergence,
    Kernel,
    Pairs,
    Reduction,
    Settings,
    Targets,
    Textbook,
    Threshold,
    attribute_threshold,
    least_similarity,
    row_weights,
    textbook_flac,
)
from fairflac.losses.gather import Share, gather_batch


class Options(TypedDict, total=False):
    """Arguments of `FLACLoss`."""

    kernel: Kernel
    exponent: float
    divergence: Divergence
    pairs: Pairs
    threshold: Threshold
    reduction: Reduction
    normalize: bool
    targets: Targets
    balanced_rows: bool
    combine: Combine
    gather: bool


class FLACLoss(nn.Module):
    """Match the similarities of the trained features to the dissimilarities of a bias model (Eq. 1-6).

    The defaults are the dialect that the published alphas belong to; `FLACLoss.paper()` is the literal text. The same
    formulas in their readable form: `fairflac.losses.flac.textbook`.

    Args:
        kernel: similarity of two samples. `student-t` is 1 / (1 + distance^exponent) (Eq. 5), `cosine` is
            (1 + cos) / 2, `rbf` is exp(-distance² / 2).
        exponent: of the distance in `student-t`. 0.5 in the released code, 1 in the paper's text.
        divergence: between the two distributions of a row. `jeffreys` is the symmetric KL divergence (Eq. 6).
        pairs: `conflicting` is S (Eq. 1), `same-target` and `different-target` are its halves, `all` is every pair.
        threshold: of the bias model's similarity, from which on two samples share the attribute (Eq. 2): midway between
            the largest and the smallest one, with or without the similarity of a sample to itself.
        reduction: the sum over S is divided by |S| (`mean`), by the number of samples (`batch`: one weight then suits
            batches with few and with many pairs), or not at all (`sum`, the paper's text).
        normalize: scale the features of both models to unit length first.
        targets: what the similarities of the trained model are matched to. `dissimilarity` is 1 - K(b), as in the
            paper; `reachable` (ours) is 1 where K(b) says that the attributes differ and K_0 elsewhere, see below.
        balanced_rows: (ours) both kinds of pairs weigh the same in every row, for bias that is not as strong in every
            class, see below.
        combine: (ours) what becomes of several attributes, each with the features of its own bias model: the `sum` of
            their losses, the largest (`max`), or the loss of their combination (`joint`), see below.
        gather: with several processes each sees the pairs of its own batch, unless `gather`. Then the loss is that of
            their joint batch, the same everywhere, and its gradients are right once they are averaged over processes,
            as DDP does.

    After each call `stats` holds |S|, the threshold, the spread of the bias model's similarities, and the shares of
    rows that mix both kinds of pairs (those carry the signal) and that have a single partner (they contribute nothing),
    and the share of S whose target is out of reach: no features have similarities from K_0 to 1 with such a share of
    their row.

    `targets = "reachable"`: unit-length features without negative entries, as they are after ReLU, are at most
    orthogonal, so their similarity lies between K_0 = 1 / (1 + 2^(exponent / 2)) and 1 (K_0 is 0.46 for exponent 0.5,
    0.41 for exponent 1). Within a row of the trained model the smallest similarity is therefore K_0 of the largest or
    more (Eq. 4). The paper's ideal bias model (Eq. 8, 9) has dissimilarity 0 for one attribute and 1 for two: no
    features have such a row, Eq. 6 does not fall, and its pull never ends. A real bias model has dissimilarities
    somewhere between, which say how its features happen to be spread. Which pairs share the attribute, Eq. 2 has
    decided already. So the targets are those of the ideal bias model, moved into what K can be: 1 where the attributes
    differ, K_0 where they are the same. The loss is then zero where the trained model has K(h) = 1 on A10 and K_0 on
    A01, which is what the proof wants of it (Eq. 10 with delta = 0). Features of any length reach every target, so this
    needs `normalize`.

    `balanced_rows`: over S Eq. 11 is alpha(j) = ((1 - delta) |A10^j| + delta |A01^j|) / |A10^j|. That is 1, as the
    proof wants it, where both kinds are as many, as the paper assumes, or delta is 0. Pairs of A01 that are weighted by
    |A10^j| / |A01^j| in both sums of row j (Eq. 3, 4) make it ((1 - delta) |A10^j| + delta |A10^j|) / |A10^j| = 1 in
    every row. Rows that lack one kind stay as they are, and so does a batch with as many of both in every row.

    `combine`: with bias features b¹ … bᴷ of K attributes, each has an S of its own. `sum` is Σ_k L(bᵏ) and `max` is
    max_k L(bᵏ), whose gradient is that of the attribute that shows most. `joint` is L(b) with one S, of the rows b =
    (b¹ / |b¹|, …, bᴷ / |bᴷ|): a pair shares the attribute if it shares the whole combination, and differs if any part
    does. `stats` then has those of the second attribute as `pairs_2`, and so on.

    An empty S gives a zero that can be differentiated: bias features that are all equal, a single sample, or one class
    of one attribute. Features that are not finite are a ValueError. Only `features` receives gradients, once (second
    derivatives: `DenseFLACLoss`). Half-precision inputs are computed in fp32, also under autocast. Time grows with N²,
    memory beside inputs and gradient stays below some hundred MB.

    Example:
        >>> loss = FLACLoss()
        >>> value = loss(torch.randn(8, 4), torch.randn(8, 6, requires_grad=True), torch.tensor([0, 1] * 4))
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "student-t",
        exponent: float = 0.5,
        divergence: Divergence = "jeffreys",
        pairs: Pairs = "conflicting",
        threshold: Threshold = "midrange",
        reduction: Reduction = "mean",
        normalize: bool = True,
        targets: Targets = "dissimilarity",
        balanced_rows: bool = False,
        combine: Combine = "sum",
        gather: bool = False,
    ) -> None:
        super().__init__()
        check_combine(combine)
        self.combine: Combine = combine
        self.gather = gather
        self.settings = Settings(
            kernel, exponent, divergence, pairs, threshold, reduction, normalize, targets, balanced_rows
        )
        self._stats: dict[str, Tensor | float] = {}

    @classmethod
    def paper(cls, *, gather: bool = False) -> Self:
        """The text of the paper: Eq. 5 with exponent 1, a sum over S, features as they are, A without its diagonal."""
        return cls(exponent=1.0, reduction="sum", normalize=False, threshold="midrange-off-diagonal", gather=gather)

    @property
    def stats(self) -> dict[str, Tensor]:
        """() each, of the last call."""
        return {name: torch.as_tensor(x, dtype=torch.float32) for name, x in self._stats.items()}

    def forward(self, bias_features: Tensor | Sequence[Tensor], features: Tensor, y: Tensor) -> Tensor:
        """The loss of a batch.

        Args:
            bias_features: (N, D_b) from the penultimate layer of the bias model, or its probabilities; of several
                attributes one such matrix for each.
            features: (N, D) from the penultimate layer of the trained model.
            y: (N,) classes.

        Returns:
            () the value; add it to the task loss, times alpha.
        """
        _check_shapes(bias_features, features, y)
        if torch.compiler.is_compiling():  # nothing to trace: numpy, and sizes that depend on values
            value: Tensor = torch.compiler.disable(self._gathered)(bias_features, features, y)
            return value
        return self._gathered(bias_features, features, y)

    def _gathered(self, bias_features: Tensor | Sequence[Tensor], features: Tensor, y: Tensor) -> Tensor:
        if not self.gather:
            return self.of_share(bias_features, features, y)
        several = (bias_features,) if isinstance(bias_features, Tensor) else bias_features
        (features, y, *several), share = gather_batch(features, y, *(one.detach() for one in several))
        return self.of_share(several, features, y, share)

    def of_share(
        self, bias_features: Tensor | Sequence[Tensor], features: Tensor, y: Tensor, share: Share | None = None
    ) -> Tensor:
        """The loss of a batch that is gathered already, where this process computes the rows of `share` only.

        Args:
            bias_features: (N, D_b) from the bias models of all processes, of several attributes one for each.
            features: (N, D) from the trained models of all processes, by `losses.gather.gather`.
            y: (N,) classes.
            share: the rows that are this process's, `losses.gather.own_share`; None: it computes all of them.

        Returns:
            () the value of the joint batch; its gradient is right once it was averaged over processes.
        """
        apart = told_apart(bias_features, self.combine, normalize=self.settings.normalize)
        values, stats = zip(*(self._of_one(b, features, y, share) for b in apart), strict=True)
        self._stats = numbered(stats)
        return combined(values, self.combine)

    def _of_one(
        self, bias_features: Tensor, features: Tensor, y: Tensor, share: Share | None
    ) -> tuple[Tensor, dict[str, Tensor | float]]:
        dtype = torch.float64 if torch.float64 in (bias_features.dtype, features.dtype) else torch.float32
        b, h = (x if x.dtype == dtype else x.to(dtype) for x in (bias_features.detach(), features))
        result = fused_flac(b, h.detach(), y, self.settings, share)
        value: Tensor = WithGradient.apply(h, result)  # type: ignore[no-untyped-call]
        return value, result.stats


class DenseFLACLoss(FLACLoss):
    """The textbook form: arguments, value, gradient and `stats` of `FLACLoss`, with N × N matrices.

    It can be differentiated twice.

    Example:
        >>> loss = DenseFLACLoss(exponent=1.0)
        >>> value = loss(torch.randn(8, 4), torch.randn(8, 6, requires_grad=True), torch.tensor([0, 1] * 4))
    """

    def forward(self, bias_features: Tensor | Sequence[Tensor], features: Tensor, y: Tensor) -> Tensor:
        """The loss of a batch, in fp32 or float64.

        Args:
            bias_features: (N, D_b) from the bias model, of several attributes one for each.
            features: (N, D) from the trained model.
            y: (N,) classes.

        Returns:
            () the value.
        """
        several = (bias_features,) if isinstance(bias_features, Tensor) else bias_features
        several, h = [one.detach() for one in several], features
        if self.gather:
            (h, y, *several), _ = gather_batch(h, y, *several)
        apart = told_apart(several, self.combine, normalize=self.settings.normalize)
        found = [textbook_flac(b, h, y, self.settings) for b in apart]
        self._stats = numbered([_dense_stats(one, y, self.settings) for one in found])
        return combined([one.value for one in found], self.combine)


def _dense_stats(found: Textbook, y: Tensor, settings: Settings) -> dict[str, Tensor | float]:
    """What there is to log of a batch."""
    mask, same_class = found.mask, y[:, None] == y
    partners, kernel_b = mask.sum(1), found.kernel_b
    pairs = partners.sum()
    least = least_similarity(settings) if settings.normalize or settings.kernel == "cosine" else 0.0
    weights = row_weights(mask, y).to(kernel_b) if settings.balanced_rows else torch.ones_like(kernel_b)
    in_row = torch.where(mask, weights, 0).sum(1, keepdim=True) / weights
    far = out_of_reach(found.p_b, in_row, least) & mask
    return {
        "pairs": pairs.float(),
        "threshold": attribute_threshold(kernel_b, settings),
        "spread": kernel_b.max() - kernel_b.min(),
        "mixed_rows": ((mask & same_class).any(1) & (mask & ~same_class).any(1)).float().mean(),
        "singleton_rows": (partners == 1).float().mean(),
        "out_of_reach": far.sum() / pairs.clamp_min(1),
    }


def flac_loss(
    bias_features: Tensor | Sequence[Tensor], features: Tensor, y: Tensor, **options: Unpack[Options]
) -> Tensor:
    """`FLACLoss(**options)(bias_features, features, y)`.

    Args:
        bias_features: (N, D_b) from the bias model, of several attributes one for each.
        features: (N, D) from the trained model.
        y: (N,) classes.
        options: arguments of `FLACLoss`.

    Returns:
        () the value.

    Example:
        >>> value = flac_loss(torch.randn(8, 4), torch.randn(8, 6), torch.tensor([0, 1] * 4), exponent=1.0)
    """
    value: Tensor = FLACLoss(**options)(bias_features, features, y)
    return value


def _check_shapes(bias_features: Tensor | Sequence[Tensor], features: Tensor, y: Tensor) -> None:
    if y.ndim != 1:
        raise ValueError(f"y must be (N,), not {tuple(y.shape)}")
    n = y.shape[0]
    several = (bias_features,) if isinstance(bias_features, Tensor) else tuple(bias_features)
    if not several:
        raise ValueError("bias_features is empty: give the features of at least one bias model")
    for name, x in (*(("bias_features", one) for one in several), ("features", features)):
        if x.ndim != 2 or x.shape[0] != n:
            raise ValueError(f"{name} must be (N, D) with N = len(y) = {n}, not {tuple(x.shape)}")


def inferred_pairs(bias_features: Tensor, y: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """(N, D_b), (N,) → (N, N) masks of A10, same class and different attribute, and of A01, the opposite (Eq. 1)."""
    b = bias_features.detach().float()
    batch = PairProblem(b, b, y, settings)
    squared, same_class = batch.b.tile(slice(0, batch.n)), y[:, None] == y
    a10 = in_s(squared, same_class, batch.limits, "same-target").fill_diagonal_(False)
    return a10, in_s(squared, same_class, batch.limits, "different-target")


def conflicting_pairs(bias_features: Tensor, y: Tensor) -> Tensor:
    """(N, D_b), (N,) → (N, N) mask of S as FLAC finds it with its defaults, for other losses over pairs."""
    a10, a01 = inferred_pairs(bias_features, y, FLACLoss().settings)
    return a10 | a01
