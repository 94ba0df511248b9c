"""FLAC's loss and its gradient in one go, in closed form; memory stays bounded whatever N is.

Read `textbook.py` first: the formulas are the same. From the bottom upwards here: `fused_flac` lists the pairs of S
where they are few (`listed_flac`, on the CPU) and masks tiles of the N × N matrix elsewhere (`tiled_flac`). On the CPU
numpy takes half the time for all but matrix products and scattering: a call costs less, and comparing or searching a
million elements takes torch ten times as long. So what both forms share is written for either.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy, mm

from fairflac.errors import NotFinite
from fairflac.losses.flac.textbook import DISTANCE_EPS, ROW_EPS, TINY, Divergence, Kernel, Pairs, Settings, Threshold

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


def to_host(scalars: Sequence[Array]) -> list[float]:
    """All at once, to wait for the device once."""
    values: list[float] = torch.stack([*scalars]).tolist() if isinstance(scalars[0], Tensor) else [*map(float, scalars)]
    return values


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

    def at(self, squared: float) -> float:
        """K(s) of one pair."""
        if self.kernel == "cosine":
            return 1 - squared / 4
        if self.kernel == "rbf":
            return math.exp(-squared / 2)
        return 1 / (1 + math.pow(squared + DISTANCE_EPS, self.exponent / 2))

    def inverse(self, similarity: float) -> float:
        """The s at which K(s) = similarity; not above zero where K never gets that large."""
        if self.kernel == "cosine":
            return 4 * (1 - similarity)
        if self.kernel == "rbf":
            return -2 * math.log(similarity)
        return math.pow(max(1 / similarity - 1, 0), 2 / self.exponent) - DISTANCE_EPS

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


def row_tiles(n: int) -> list[slice]:
    """Cut n rows into tiles of about `TILE` distances each."""
    height = max(TILE // n, MIN_ROWS)
    if n >= SEVERAL:
        height = min(height, -(-n // 4))
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


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
    """The threshold of Eq. 2 moved to squared distances, so that no root is taken of N² elements."""

    same: float  # below it two samples share the attribute
    different: float  # from it on they do not
    threshold: float  # in kernel units
    spread: float  # largest minus smallest similarity


def attribute_limits(b: Points, h: Points, tiles: list[slice], similarity: Similarity, rule: Threshold) -> Limits:
    """Midway between the largest and the smallest similarity of the bias model (Eq. 2).

    `midrange` takes them over the whole matrix, whose diagonal fixes the maximum, and a tie is in neither set (what the
    released code does); `midrange-off-diagonal` over pairs of two samples, and a tie counts as different (the paper).
    """
    itself, nearest, farthest = _extremes(b, h, tiles, off_diagonal=rule == "midrange-off-diagonal")
    smallest = similarity.at(farthest)
    threshold = (similarity.at(nearest) + smallest) / 2
    rounding = TIE * float(namespace(b.rows).finfo(b.rows.dtype).eps)
    same = similarity.inverse(threshold * (1 + rounding))
    different = same if rule == "midrange-off-diagonal" else similarity.inverse(threshold * (1 - rounding))
    return Limits(same, different, threshold, similarity.at(itself) - smallest)


def _extremes(b: Points, h: Points, tiles: list[slice], off_diagonal: bool) -> tuple[float, float, float]:
    """Squared distances of a sample and itself, the nearest and the farthest two samples of the bias model.

    All that the host must know comes over at once, so here also NaN and infinity are found.
    """
    nearest, farthest = [], []
    for rows in tiles:
        squared = b.tile(rows, first=rows.start)  # the other triangle is the same
        farthest.append(squared.max())
        if off_diagonal:
            squared.reshape(-1)[:: squared.shape[1] + 1] = math.inf  # never a pair, so nobody else will miss it
            nearest.append(squared.min())
    lift = [] if b.lift is None else [b.lift.min()]
    sum_b, sum_h, *values = to_host([b.squares.sum(), h.squares.sum(), *farthest, *nearest, *lift])
    for name, total in (("bias_features", sum_b), ("features", sum_h)):
        if not math.isfinite(total):
            raise NotFinite(
                f"{name} must be finite, and so must its squares; there is NaN, infinity or a huge value: lower lr, or "
                "the weight of the loss"
            )
    # A sample is at 0 from itself, but for the cosine of nothing but zero rows.
    itself = 2 * values.pop() if lift else 0.0
    far, near = max(values[: len(farthest)]), min(values[len(farthest) :], default=itself)
    return itself, max(near, 0.0) if math.isfinite(near) else itself, max(far, 0.0)


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


class Result(NamedTuple):
    """Numbers are tensors where reading them would mean to wait for a device."""

    value: float | Tensor
    gradient: Tensor  # (N, D)
    stats: dict[str, float | Tensor]


class PairProblem:
    """Of tensors or of ndarrays."""

    def __init__(self, bias: Array, features: Array, y: Array, settings: Settings) -> None:
        self.settings, self.y, self.n = settings, y, y.shape[0]
        self.tiles = row_tiles(self.n)
        self.similarity = Similarity(settings.kernel, settings.exponent)
        self.b, self.h = (Points(x, settings.kernel, settings.normalize) for x in (bias, features))
        self.limits = attribute_limits(self.b, self.h, self.tiles, self.similarity, settings.threshold)
        unit = settings.normalize or settings.kernel == "cosine"
        self.floor = self.similarity.at(2.0) if unit else 0.0  # K_0: orthogonal unit rows are at s = 2

    def wanted(self, squared: Array) -> Array:
        """What the bias model's squared distances ask of the trained model's similarities, up to a factor."""
        if self.settings.targets == "reachable":
            xp = namespace(squared)
            return xp.where(squared < self.limits.same, xp.full_like(squared, self.floor), xp.ones_like(squared))
        return 1 - self.similarity.of(squared)

    def result(self, value: Array, gradient: Array, pairs: Array, mixed: Array, single: Array, far: Array) -> Result:
        """From sums over all pairs, and (N, D) the gradient in the points of `h`."""
        divisor = {"sum": 1.0, "mean": pairs + (pairs == 0), "batch": float(max(self.n, 1))}[self.settings.reduction]
        stats = {
            "pairs": pairs,
            "threshold": self.limits.threshold,
            "spread": self.limits.spread,
            "mixed_rows": mixed / self.n,
            "singleton_rows": single / self.n,
            "out_of_reach": far / (pairs + (pairs == 0)),
        }
        return Result(value / divisor, as_tensor(self.h.gradient_in_features(gradient, divisor)), stats)


Floats = NDArray[Any]
Indices = NDArray[np.intp]

# Features to gather per pair of the batch, from which on masked tiles are faster (measured).
WORTH = 4
# Pairs that a list may have, at about 200 bytes each, so that memory stays bounded whatever N is.
MOST = 2**19
# Pairs whose features are held at a time.
CHUNK = 2**13
# Samples times pairs, up to which a matrix product adds up their pulls faster than scattering does (measured).
SMALL = 2**16


@np.errstate(all="ignore")  # what is not finite is an error already
def listed_flac(bias: Floats, features: Floats, y: Indices, settings: Settings) -> Result | None:
    """(N, D_b), (N, D), (N,) → the loss over the pairs (i, j) and (j, i); None if S is too large to be worth a list.

    With row j's p = a / A_j and q = k / Z_j, and e = q ∂f/∂q, dL/d log k_ij = e_ij - q_ij Σ_l e_lj. Times d log k / ds
    it is the weight of s_ij = ||h_i - h_j||², whose gradient is 2 (h_i - h_j) for h_i and the opposite for h_j.
    """
    batch = PairProblem(bias, features, y, settings)
    pairs = _list_pairs(batch)
    if pairs is None:
        return None
    ends, n = pairs.ravel(), batch.n
    apart = _Differences(batch.h, pairs)
    k, log_slope = batch.similarity.with_log_slope(apart.squared())
    a = batch.wanted(_Differences(batch.b, pairs).squared())
    class_i, class_j = y[pairs]
    kinds = np.bincount((pairs + n * (class_i == class_j)).ravel(), minlength=2 * n)
    different, same = kinds[:n], kinds[n:]  # (N,) partners of another and of the same class
    a_and_k = np.maximum((a, k), TINY)[:, None].repeat(2, 1)  # (2, 2, U): of either, and of either row
    partners = different + same
    in_row: Array = partners[pairs]  # (2, U): how many such pairs a row would have
    if settings.balanced_rows:
        weight = row_weights(same, different)
        factors = np.where(class_i == class_j, 1, weight[pairs])
        a_and_k *= factors
        in_row = (same + different * weight)[pairs] / factors
    # A row's sum of both: what each pair brings to its two rows, counted in two ranges of rows.
    sums = np.bincount(np.concatenate((ends, ends + n)), a_and_k.ravel(), 2 * n).reshape(2, n)
    p, q = a_and_k / (sums[:, pairs] + ROW_EPS)  # (2, U) each: of pair and row
    terms, e = pointwise(p, q, settings.divergence)
    weights = (e - q * np.bincount(ends, e.ravel(), n)[pairs]).sum(0) * (2 * log_slope)
    mixed, single = np.count_nonzero(different * same), np.count_nonzero(partners == 1)
    far = np.count_nonzero(out_of_reach(p, in_row, batch.floor))
    return batch.result(terms.sum(), apart.gradient(weights), pairs.size, mixed, single, far)


def _list_pairs(batch: PairProblem) -> Indices | None:
    """(2, U): the pairs i < j in S, unless they are too many."""
    budget = min(WORTH * batch.n**2 // (batch.b.rows.shape[1] + batch.h.rows.shape[1]), MOST)
    found, y = [], _in_bytes(batch.y)
    for rows in batch.tiles:
        same_class = y[rows, None] == y[rows.start :]
        mask = in_s(batch.b.tile(rows, first=rows.start), same_class, batch.limits, batch.settings.pairs)
        flat = np.flatnonzero(mask)
        budget -= len(flat) // 2
        if budget < 0:
            return None
        pairs = np.array(np.divmod(flat, mask.shape[1]))
        found.append(pairs[:, pairs[0] < pairs[1]] + rows.start)
    return np.concatenate(found, 1)


def _in_bytes(y: Indices) -> NDArray[Any]:
    """(N,) the same classes, in bytes if they fit: N² comparisons take a quarter of the time."""
    fits = y.dtype == np.int64 and len(y) and y.min() >= 0 and y.max() < 256
    return y.astype(np.uint8) if fits else y


class _Differences:
    """h_i - h_j of the pairs, (2, U), in parts of bounded size; a list of one part is kept."""

    def __init__(self, points: Points, pairs: Indices) -> None:
        self.points, self.pairs = points, pairs
        self._kept: Floats | None = None

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        i, j = self.pairs
        for start in range(0, max(len(i), 1), CHUNK):  # one part at least
            part = slice(start, start + CHUNK)
            if self._kept is None or len(i) > CHUNK:
                self._kept = self.points.rows.take(i[part], 0)
                self._kept -= self.points.rows.take(j[part], 0)
            yield part, self._kept

    def squared(self) -> Floats:
        """(U,) squared distances, without the rounding of `Points.tile`."""
        squared: Floats = np.concatenate([np.vecdot(difference, difference) for _, difference in self])
        if self.points.lift is not None:
            squared += self.points.lift[self.pairs].sum(0)
        return squared

    def gradient(self, weights: Floats) -> Floats:
        """(U,) → (N, D) gradient of Σ weights · s / 2."""
        gradient: Floats = np.zeros_like(self.points.rows)
        weights = weights.astype(gradient.dtype)
        i, j = self.pairs
        if len(gradient) * len(i) <= SMALL and self._kept is not None and len(i) <= CHUNK:
            ends: Floats = np.zeros((len(gradient), len(i)), gradient.dtype)
            each = np.arange(len(i))
            ends[i, each] = weights
            ends[j, each] = -weights
            # Not numpy's product: its threads would fight torch's. With `out` autocast leaves it alone.
            mm(from_numpy(ends), from_numpy(self._kept), out=from_numpy(gradient))
            return gradient
        for part, difference in self:
            pull = difference * weights[part, None]
            rows, pulls = self.pairs[:, part].ravel(), np.concatenate([pull, -pull])
            from_numpy(gradient).index_add_(0, from_numpy(rows), from_numpy(pulls))
        return gradient


def tiled_flac(bias: Tensor, features: Tensor, y: Tensor, settings: Settings) -> Result:
    """(N, D_b), (N, D), (N,) → the loss over all rows. Its formulas are those of `listed_flac`."""
    batch = PairProblem(bias, features, y, settings)
    gradient, everywhere = torch.zeros_like(features), batch.h.centred
    sums = features.new_zeros(5)
    for rows in batch.tiles:
        same_class = y[rows, None] == y
        mask = in_s(batch.b.tile(rows), same_class, batch.limits, settings.pairs)
        mask.view(-1)[rows.start :: batch.n + 1] = False  # a sample with itself
        partners, same = mask.sum(1), (mask & same_class).sum(1)
        factors = None
        if settings.balanced_rows:
            counts = (count.to(features.dtype) for count in (same, partners - same))
            factors = torch.where(same_class, 1, row_weights(*counts)[:, None])
        value, weights, far = _tile(batch, rows, mask, factors)
        here = everywhere[rows]
        gradient[rows].addcmul_(weights.sum(1)[:, None], here).addmm_(weights, everywhere, alpha=-1)
        gradient.addcmul_(weights.sum(0)[:, None], everywhere).addmm_(weights.T, here, alpha=-1)
        mixed, single = (same * (partners - same)).count_nonzero(), (partners == 1).count_nonzero()
        sums += torch.stack([value, partners.sum(), mixed, single, far])
    value, pairs, mixed, single, far = sums
    return batch.result(value, gradient, pairs, mixed, single, far)


def _tile(batch: PairProblem, rows: slice, mask: Tensor, factors: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """() divergence of a tile of rows, (T, N) twice its slope in the squared distances of the trained features, and ()
    how many of its pairs have a target out of reach.
    """

    def inside(values: Tensor) -> Tensor:
        return torch.where(mask, values, 0)

    a = batch.wanted(batch.b.tile(rows).clamp_min_(0)).clamp_min_(TINY)
    k, log_slope = batch.similarity.with_log_slope(batch.h.tile(rows).clamp_min_(0))
    k.clamp_min_(TINY)
    if factors is not None:
        a, k = a * factors, k * factors
    p = a / (inside(a).sum(1, keepdim=True) + ROW_EPS)
    q = k / (inside(k).sum(1, keepdim=True) + ROW_EPS)
    terms, e = pointwise(p, q, batch.settings.divergence)
    e = inside(e)
    in_row = mask.sum(1, keepdim=True) if factors is None else inside(factors).sum(1, keepdim=True) / factors
    far = (out_of_reach(p, in_row, batch.floor) & mask).count_nonzero()
    return inside(terms).sum(), inside((e - q * e.sum(1, keepdim=True)) * (2 * log_slope)), far


@torch.inference_mode()  # what torch does around its operations takes as long as they do in a small batch
def fused_flac(bias: Tensor, features: Tensor, y: Tensor, settings: Settings) -> Result:
    """(N, D_b), (N, D), (N,) → value and gradient in `features` (Eq. 1-6)."""
    listed = listed_flac(bias.numpy(), features.numpy(), y.numpy(), settings) if features.is_cpu else None
    return listed or tiled_flac(bias, features, y, settings)


class WithGradient(torch.autograd.Function):
    """A value whose gradient is known already."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, result: Result) -> Tensor:
        ctx.gradient = result.gradient
        value = result.value
        return value.clone() if isinstance(value, Tensor) else torch.scalar_tensor(value, dtype=features.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():  # once_differentiable would take the gradient for a constant
            raise RuntimeError("FLACLoss cannot be differentiated twice; fairflac.losses.DenseFLACLoss can")
        return grad * ctx.gradient, None
