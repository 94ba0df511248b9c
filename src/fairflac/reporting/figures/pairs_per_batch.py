"""How many pairs S has in a batch (paper, Fig. 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fairflac.errors import UserError
from fairflac.metrics.intervals import bootstrap_interval
from fairflac.reporting.figures.style import INK, SERIES, Drawing, NothingToDraw, panels, short, tidy
from fairflac.runs.directory import Run
from fairflac.system.arrays import read_array

BINS = 40  # over the widest distribution; all have the same


@dataclass(frozen=True)
class Distribution:
    """All runs, seeds included, of one method at one q."""

    label: str
    q: float | None
    images: int  # in a batch
    pairs: np.ndarray  # |S| of each batch, pairs counted in both directions
    live: bool  # training has augmented images, which these numbers do not

    @property
    def words(self) -> str:
        """Mean with its interval over batches drawn anew, and the largest."""
        low, high = bootstrap_interval(self.pairs)
        mean = f"{self.pairs.mean():.1f} on average (95 % range {low:.1f}–{high:.1f}, n = {len(self.pairs):,} batches)"
        return f"{self.label}: {mean}, at most {self.pairs.max():,} of {self.images * (self.images - 1):,}"


def pairs_per_batch(runs: Sequence[Run]) -> Drawing:
    """A histogram per q and method: how often a batch of the training set has so many pairs in S (Eq. 1).

    The more the attribute goes with the class, the fewer pairs tell the two apart. Pairs count in both directions, as
    in the paper. Batches are those of the first epoch.
    """
    found = distributions(runs)
    if not found:
        raise NothingToDraw(
            "none of these runs has counted pairs in S: only FLAC with pairs = 'conflicting' has them, and runs "
            "trained by earlier versions did not count"
        )
    figure, axes = panels(len(found), 1, (6.4, 1.45), extra=0.4)
    top = max(int(one.pairs.max()) for one in found)
    width = 2 * max(1, -(-top // (2 * BINS)))  # counts are even
    bins = np.arange(-1, top + width, width)  # the first is around 0
    for axis, one in zip(axes, found, strict=True):
        _draw(axis, one, bins)
    sizes = {one.images for one in found}
    of = f" of {sizes.pop()}" if len(sizes) == 1 else ""
    figure.supxlabel(f"pairs in S per batch{of}; dashed: the mean", fontsize=10, color=INK)
    figure.supylabel("share of batches", fontsize=10, color=INK)
    live = [one.label for one in found if one.live]
    note = f" In training, {', '.join(live)} had augmented images; counted are the images as they are." if live else ""
    return Drawing(
        figure,
        f"Histograms of the number of pairs in S per batch for {'; '.join(one.label for one in found)}. The caption "
        "has the numbers.",
        f"Pairs that FLAC can learn from in a batch. {'; '.join(one.words for one in found)}. The more often the "
        f"attribute goes with the class, the fewer there are.{note}",
    )


def distributions(runs: Sequence[Run]) -> list[Distribution]:
    """By q, then in the order of the runs. Runs without S are left out: other methods, and ablations of S."""
    members: dict[tuple[Any, ...], list[Run]] = {}
    for run in filter(_uses_s, runs):
        config = run.config
        q = q if isinstance(q := config.get("data_options", {}).get("q"), float | int) else None
        train = config["train"]
        key = config["dataset"], q, config["method"], train["batch_size"], train.get("bias_features") == "live"
        members.setdefault(key, []).append(run)
    datasets, sizes = {key[0] for key in members}, {key[3] for key in members}
    found = []
    for (dataset, q, method, images, live), alike in members.items():
        words = [short(method, 14), *([] if q is None else [f"q = {q:g}"])]
        words += [short(dataset, 14)] if len(datasets) > 1 or q is None else []
        words += [f"batch of {images}"] if len(sizes) > 1 else []
        found.append(Distribution(", ".join(words), q, images, np.concatenate([_counts(run) for run in alike]), live))
    return sorted(found, key=lambda one: (one.q is None, one.q or 0.0))


def _counts(run: Run) -> np.ndarray:
    try:
        return read_array(run.pairs_per_batch)
    except ValueError as error:
        raise UserError(f"'{run.pairs_per_batch}' is damaged: put back a copy, or train with --restart") from error


def _uses_s(run: Run) -> bool:
    """Methods with a bias model all count; FLAC over S is what logs the pairs as well."""
    if not run.pairs_per_batch.exists() or not (run.path / "metrics.jsonl").exists():
        return False
    every_pair = run.config.get("method_options", {}).get("pairs", "conflicting") != "conflicting"
    return not every_pair and any("pairs" in entry for entry in run.history)


def _draw(axes: Axes, one: Distribution, bins: np.ndarray) -> None:
    tidy(axes, one.label)
    shares = np.full(len(one.pairs), 1 / len(one.pairs))
    axes.hist(one.pairs, bins.tolist(), weights=shares, color=SERIES[0], alpha=0.75)
    axes.set_xlim(float(bins[0]), float(bins[-1]))
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.locator_params(axis="y", nbins=3)
    axes.axvline(float(one.pairs.mean()), color=INK, linewidth=1.2, linestyle="--")
