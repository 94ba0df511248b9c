"""What the fused forms share: similarities, distances by tiles, the threshold (Eq. 2), who is in S, and what comes out.

Of tensors or of ndarrays alike, as the two forms want them: on the CPU numpy takes half the time for all but matrix
products and scattering. A call costs less, and comparing or searching a million elements takes torch ten times as long.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from fairflac.errors import NotFinite
from fairflac.losses.flac.textbook import DISTANCE_EPS, TINY, Divergence, Kernel, Pairs, Settings
from fairflac.losses.gather import Share
from fairflac.system.hardware import finest_float

# A Tensor or an ndarray, of which only is asked what both know under the same name.
Array: TypeAlias = Any


def namespace(x: Array) -> Any:
    """The module whose functions fit `x`."""
    return torch if isinstance(x, Tensor) else np


def as_tensor(x: Array) -> Tensor:
    """The same memory as a Tensor."""
    return x if isinstance(x, Tensor) else torch.from_numpy(x)


def row_products(a: Array, b: Array) -> Array:
    """(N, D), (N, D) → (N,)."""
    return (a * b).sum(1) if isinstance(a, Tensor) else np.vecdot(a, b)


def precise(x: Array) -> Array:
    """() → the same in double: a number where that is at hand, a tensor where reading it would wait for a device."""
    if not isinstance(x, Tensor) or x.is_cpu:
        return np.float64(x)
    return x.to(finest_float(x.device))


@dataclass(frozen=True)
class Similarity:
    """K as a function of s = ||a - b||², with the slope of its log and its inverse.

    - `student-t`: 1 / (1 + √(s + eps)^exponent), Eq. 5 for exponent 1
    - `cosine`: (1 + cos(a, b)) / 2 = 1 - s / 4 for unit rows
    - `rbf`: exp(-s / 2), unit width
    """

    kernel: Kernel
    exponent: float

    def of(self, squared: Array) -> Array:
        """K(s)."""
        if self.kernel == "cosine":
            return (1 - squared / 4).clip(0)
        if self.kernel == "rbf":
            return namespace(squared).exp(squared / -2)
        return 1 / (1 + self._power(squared + DISTANCE_EPS))

    def with_log_slope(self, squared: Array) -> tuple[Array, Array]:
        """K(s) and d log K / ds."""
        if self.kernel == "student-t":
            shifted = squared + DISTANCE_EPS
            power = self._power(shifted)
            value = 1 / (1 + power)
            return value, power * value / shifted * (-self.exponent / 2)
        value, xp = self.of(squared), namespace(squared)
        alive = value > xp.finfo(value.dtype).tiny  # where K has vanished it does not move
        return value, alive * -0.5 if self.kernel == "rbf" else xp.where(alive, -0.25 / value, 0)

    def inverse(self, similarity: Array) -> Array:
        """The s at which K(s) = similarity, a `precise` number; not above zero where K never gets that large."""
        if self.kernel == "cosine":
            return 4 * (1 - similarity)
        if self.kernel == "rbf":
            return -2 * namespace(similarity).log(similarity)
        return (1 / similarity - 1).clip(0) ** (2 / self.exponent) - DISTANCE_EPS

    def _power(self, shifted: Array) -> Array:
        """√shifted^exponent; two roots are several times faster than a power."""
        return (shifted**0.5) ** 0.5 if self.exponent == 0.5 else shifted ** (self.exponent / 2)


def pointwise(p: Array, q: Array, divergence: Divergence) -> tuple[Array, Array]:
    """The summand f of D(p, q) and its slope in log q, which is q ∂f/∂q and stays finite where q vanishes.

    `p` comes from the bias model, `q` from the trained one, both positive.
    """
    difference = p - q
    if divergence == "mse":
        return difference**2, -2 * q * difference
    xp = namespace(p)
    log_ratio = xp.log(p) - xp.log(q)
    if divergence == "kl":
        return p * log_ratio, -p
    return difference * log_ratio, -difference - q * log_ratio


# Elements of a tile: small enough for the cache, large enough for the matrix product. Few rows would starve the latter.
TILE = 2**20
MIN_ROWS = 32
# Rows from which on a batch has four tiles at least: their parts above the diagonal are five eighths of the whole.
SEVERAL = 512


def row_tiles(n: int, rows: slice | None = None) -> list[slice]:
    """Cut some or all of n rows into tiles of about `TILE` distances each."""
    rows, height = rows or slice(0, n), max(TILE // max(n, 1), MIN_ROWS)
    if n >= SEVERAL:
        height = min(height, -(-n // 4))
    return [slice(start, min(start + height, rows.stop)) for start in range(rows.start, rows.stop, height)]


class Points:
    """(N, D) features as points, on the unit sphere if wanted, whose distances are asked for.

    The cosine kernel needs unit rows, for which cos = 1 - s / 2. A zero row has cos 0 with all rows, itself included:
    it counts as a unit row in a direction of its own, `lift`.
    """

    def __init__(self, features: Array, kernel: Kernel, normalize: bool) -> None:
        self.rows = features
        self.squares = row_products(features, features)  # (N,)
        self.lengths: Array | None = None  # (N, 1)
        self.lift: Array | None = None  # (N,), 1 for a zero row
        if normalize or kernel == "cosine":
            zero = self.squares == 0
            self.lengths = (self.squares**0.5 + zero)[:, None]  # a zero row stays what it is
            self.rows = features / self.lengths
            self.lift = self.lengths[:, 0] * zero if kernel == "cosine" else None
        self._kept: dict[tuple[int, int], Array] = {}

    @cached_property
    def centred(self) -> Array:
        """Distances do not change when all rows move together; the expansion in `tile` then loses fewer digits."""
        return self.rows - self.rows.sum(0) / self.rows.shape[0]

    @cached_property
    def norms(self) -> Array:
        """(N,) squared lengths of the centred rows."""
        norms = row_products(self.centred, self.centred)
        return norms if self.lift is None else norms + self.lift

    def tile(self, rows: slice, first: int = 0) -> Array:
        """(T, N - first) squared distances of `rows` to all rows from `first`; up to `TILE` of the last are kept.

        By rounding they can be slightly negative.
        """
        key = (rows.start, first)
        if key not in self._kept:
            size = (rows.stop - rows.start) * (len(self.rows) - first)
            if size + sum(math.prod(kept.shape) for kept in self._kept.values()) > TILE:
                self._kept.clear()
            squared = self.norms[rows, None] + self.norms[first:]
            left, right = as_tensor(self.centred[rows]), as_tensor(self.centred[first:])
            as_tensor(squared).addmm_(left, right.T, alpha=-2)
            self._kept[key] = squared
        return self._kept[key]

    def gradient_in_features(self, of_rows: Array, divisor: Array) -> Array:
        """From the gradient in `rows`, which is overwritten, to that in the features, divided by `divisor`.

        What points along a row leaves its direction alone.
        """
        if self.lengths is None:
            of_rows /= divisor
        else:
            of_rows -= self.rows * row_products(self.rows, of_rows)[:, None]
            of_rows /= self.lengths * divisor
        return of_rows


# Kernel values this many roundings from the threshold tie with it, so that noise makes no pairs.
TIE = 4


class Limits(NamedTuple):
    """The threshold of Eq. 2 moved to squared distances, so that no root is taken of N² elements; `precise` numbers."""

    same: Array  # below it two samples share the attribute
    different: Array  # from it on they do not
    threshold: Array  # in kernel units
    spread: Array  # largest minus smallest similarity


@np.errstate(divide="ignore")  # where all similarities vanish
def attribute_limits(b: Points, h: Points, tiles: list[slice], share: Share, settings: Settings) -> Limits:
    """Midway between the largest and the smallest similarity of the bias model (Eq. 2).

    `midrange` takes them over the whole matrix, whose diagonal fixes the maximum, and a tie is in neither set (what the
    released code does); `midrange-off-diagonal` over pairs of two samples, and a tie counts as different (the paper).
    """
    similarity, off_diagonal = Similarity(settings.kernel, settings.exponent), settings.threshold != "midrange"
    itself, nearest, farthest = _extremes(b, h, tiles, share, off_diagonal)
    smallest = similarity.of(farthest)
    threshold = (similarity.of(nearest) + smallest) / 2
    rounding = TIE * float(namespace(b.rows).finfo(b.rows.dtype).eps)
    same = similarity.inverse(threshold * (1 + rounding))
    different = same if off_diagonal else similarity.inverse(threshold * (1 - rounding))
    return Limits(same, different, threshold, similarity.of(itself) - smallest)


def _extremes(b: Points, h: Points, tiles: list[slice], share: Share, off_diagonal: bool) -> tuple[Array, ...]:
    """Squared distances of a sample and itself, the nearest and the farthest two samples of the bias model."""
    minus_nearest, farthest = [], []
    for rows in tiles:
        first = rows.start if share.whole else 0  # the other triangle is the same
        squared = b.tile(rows, first)
        farthest.append(squared.max())
        if off_diagonal:
            squared.reshape(-1)[rows.start - first :: squared.shape[1] + 1] = math.inf  # never a pair: nobody misses it
            minus_nearest.append(-squared.min())
    _check_finite(b, h)
    # A sample is at 0 from itself, but for the cosine of nothing but zero rows.
    itself = precise(0 * b.squares.sum() if b.lift is None else 2 * b.lift.min())
    outermost = _largest(farthest, 0.0), _largest(minus_nearest, -math.inf)
    if not share.whole:
        device = as_tensor(b.rows).device
        joint = share.largest(torch.stack([torch.as_tensor(x, device=device) for x in outermost]))
        outermost = precise(joint[0]), precise(joint[1])
    far, near = outermost[0].clip(0), -outermost[1]
    if off_diagonal:
        return itself, namespace(near).where(near == math.inf, itself, near.clip(0)), far
    return itself, itself, far


def _largest(values: list[Array], least: float) -> Array:
    """`precise`; there may be none."""
    if values and isinstance(values[0], Tensor) and not values[0].is_cpu:
        return precise(torch.stack(values).max())
    return np.float64(max(map(float, values), default=least))


def _check_finite(b: Points, h: Points) -> None:
    """On a device the check would be waited for; there a value that is not finite makes the loss NaN."""
    for name, points in (("bias_features", b), ("features", h)):
        total = precise(points.squares.sum())
        if not isinstance(total, Tensor) and not math.isfinite(total):
            raise NotFinite(
                f"{name} must be finite, and so must its squares; there is NaN, infinity or a huge value: lower lr, or "
                "the weight of the loss"
            )


def in_s(squared: Array, same_class: Array, limits: Limits, pairs: Pairs) -> Array:
    """Mask of the pairs that enter the loss, from their squared distances by the bias model; the diagonal is noise."""
    if pairs == "all":
        return same_class | ~same_class
    if pairs == "same-target":  # A10: same class, different attribute
        return (squared >= limits.different) & same_class
    if pairs == "different-target":  # A01: different class, same attribute
        return (squared < limits.same) & ~same_class
    return ((squared >= limits.different) & same_class) | ((squared < limits.same) & ~same_class)


def out_of_reach(p: Array, partners: Array, floor: float) -> Array:
    """Where a row of so many similarities, all from `floor` to 1, cannot have p as one of its shares (Eq. 4).

    Of weighted ones, `partners` is the sum of their weights, divided by that of this one.
    """
    least, most = floor / (floor + partners - 1 + TINY), 1 / (1 + (partners - 1) * floor)
    return (p < 0.999 * least) | (p > 1.001 * most)


def row_weights(same: Array, different: Array) -> Array:
    """(N,) partners of the same and of another class → what those of another class weigh, see `balanced_rows`."""
    both, xp = (same > 0) & (different > 0), namespace(same)
    return xp.where(both, same / (different + ~both), 1.0)


class Sums(NamedTuple):
    """Over the rows of this process; ndarrays or tensors."""

    value: Array  # ()
    pairs: Array  # () of S, each counted in both of its rows
    mixed: Array  # () rows with both kinds of pairs
    single: Array  # () rows with one partner
    far: Array  # () pairs whose target is out of reach
    gradient: Array  # (N, D) in the points of `h`


class Result(NamedTuple):
    """Numbers are tensors where reading them would mean to wait for a device."""

    value: float | Tensor
    gradient: Tensor  # (N, D)
    stats: dict[str, float | Tensor]


class PairProblem:
    """Of tensors or of ndarrays. `limits`: where they are known already."""

    def __init__(
        self,
        bias: Array,
        features: Array,
        y: Array,
        settings: Settings,
        share: Share | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.settings, self.y, self.n = settings, y, y.shape[0]
        self.share = share or Share(slice(0, self.n))
        self.tiles = row_tiles(self.n, self.share.rows)
        self.similarity = Similarity(settings.kernel, settings.exponent)
        self.b, self.h = (Points(x, settings.kernel, settings.normalize) for x in (bias, features))
        self.limits = limits or attribute_limits(self.b, self.h, self.tiles, self.share, settings)
        unit = settings.normalize or settings.kernel == "cosine"
        self.floor = float(self.similarity.of(np.float64(2))) if unit else 0.0  # K_0: orthogonal unit rows are at s = 2

    def wanted(self, squared: Array) -> Array:
        """What the bias model's squared distances ask of the trained model's similarities, up to a factor."""
        if self.settings.targets == "reachable":
            xp = namespace(squared)
            return xp.where(squared < self.limits.same, xp.full_like(squared, self.floor), xp.ones_like(squared))
        return 1 - self.similarity.of(squared)

    def result(self, sums: Sums) -> Result:
        """The value of all processes, and W times this one's part of the gradient, as gradients will be averaged."""
        numbers: Any = sums[:5]
        if not self.share.whole:
            device = as_tensor(sums.gradient).device
            mine = torch.stack([torch.as_tensor(precise(x), device=device) for x in numbers])
            numbers = [precise(x) for x in self.share.summed(mine)]
        value, pairs, mixed, single, far = numbers
        divisor = {"sum": 1.0, "mean": pairs + (pairs == 0), "batch": float(max(self.n, 1))}[self.settings.reduction]
        stats = {
            "pairs": pairs,
            "threshold": self.limits.threshold,
            "spread": self.limits.spread,
            "mixed_rows": mixed / self.n,
            "singleton_rows": single / self.n,
            "out_of_reach": far / (pairs + (pairs == 0)),
        }
        gradient = self.h.gradient_in_features(sums.gradient, divisor / self.share.processes)
        return Result(value / divisor, as_tensor(gradient), stats)
