"""How many pairs S has in a batch (paper, Fig. 5)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fairflac.report.figures.drawing import Drawing, NothingToDraw
from fairflac.report.figures.names import short
from fairflac.report.figures.style import INK, SERIES, legend, panels, tidy
from fairflac.runs import Run


@dataclass
class Bar:
    """All runs, seeds included, of one method at one q."""

    label: str
    q: float | None
    images: int  # in a batch
    epochs: list[float] = field(default_factory=list)  # mean |S| of the batches of each epoch
    before: list[float] = field(default_factory=list)  # the same before training, from the bias model alone


def pairs_per_batch(runs: Sequence[Run]) -> Drawing:
    """A bar per q and method: the mean number of pairs in S (Eq. 1), with a stroke over the range of the epochs.

    The more the attribute goes with the class, the fewer pairs tell the two apart. Pairs count in both directions.
    A diamond is the number that was measured on the bias model before training. The paper shows the frequency of
    each number; a run logs the mean of an epoch.
    """
    bars = count_pairs(runs)
    if not bars:
        raise NothingToDraw("none of these runs has logged a set S: only FLAC with pairs = 'conflicting' has one")
    if len(bars) == 1:
        raise NothingToDraw("there is one q only; give FLAC runs of several q")
    sizes = {bar.images for bar in bars}
    figure, (axes,) = panels(1, 1, (max(4.5, 1.1 + 0.8 * len(bars)), 3.4), extra=0.3)
    tidy(axes)
    _draw(axes, bars, one_size=len(sizes) == 1)
    axes.set_ylabel(f"pairs in S per batch of {sizes.pop()}" if len(sizes) == 1 else "pairs in S per batch", color=INK)
    handles: list[Any] = [Patch(color=SERIES[0], alpha=0.55), Line2D([], [], color=INK, linewidth=1.4)]
    names = ["in training", "range of the epochs"]
    if any(bar.before for bar in bars):
        handles.append(Line2D([], [], color=INK, marker="D", linestyle="", markersize=5, markerfacecolor="none"))
        names.append("before training")
    legend(figure, handles, names, columns=3, place="outside upper center")
    means = ", ".join(f"{bar.label.replace(chr(10), ' ')}: {np.mean(bar.epochs):.1f}" for bar in bars)
    return Drawing(
        figure,
        f"Bars of the mean number of pairs in S per batch: {means}.",
        f"Pairs that FLAC can learn from, per batch: {means}. The more often the attribute goes with the class, the "
        "fewer there are.",
    )


def count_pairs(runs: Sequence[Run]) -> list[Bar]:
    """By q, then in the order of the runs. Runs without S are left out: other methods, and ablations of S."""
    bars: dict[tuple[Any, ...], Bar] = {}
    datasets = {run.config["dataset"] for run in runs}
    for run in runs:
        config = run.config
        options = config.get("method_options", {})
        logged = (run.path / "metrics.jsonl").exists() and options.get("pairs", "conflicting") == "conflicting"
        pairs = [float(entry["pairs"]) for entry in run.history if "pairs" in entry] if logged else []
        if not pairs:
            continue
        q = q if isinstance(q := config.get("data_options", {}).get("q"), float | int) else None
        images = config.get("train", {}).get("batch_size", 0) * (2 if options.get("task") == "supcon" else 1)  # views
        dataset = [short(config["dataset"], 14)] if len(datasets) > 1 or q is None else []
        words = [*dataset, *([] if q is None else [f"q = {q:g}"]), short(config["method"], 14)]
        bar = bars.setdefault((config["dataset"], q, config["method"], images), Bar("\n".join(words), q, images))
        bar.epochs += pairs
        if "pairs" in (quality := run.result.get("bias_model_quality") or {}):
            bar.before.append(float(quality["pairs"]))
    return sorted(bars.values(), key=lambda bar: (bar.q is None, bar.q or 0.0))


def _draw(axes: Axes, bars: Sequence[Bar], *, one_size: bool) -> None:
    means = [float(np.mean(bar.epochs)) for bar in bars]
    axes.bar(range(len(bars)), means, width=0.62, color=SERIES[0], alpha=0.55)
    top = max(max(bar.epochs + bar.before) for bar in bars) or 1.0
    for place, (bar, mean) in enumerate(zip(bars, means, strict=True)):
        axes.plot([place, place], [min(bar.epochs), max(bar.epochs)], color=INK, linewidth=1.4)
        for value in bar.before:
            axes.plot(place, value, color=INK, marker="D", markersize=5, markerfacecolor="none")
        highest = max(bar.epochs + bar.before)
        axes.text(place, highest + 0.03 * top, f"{mean:.1f}", ha="center", va="bottom", fontsize=9, color=INK)
    labels = [bar.label if one_size else f"{bar.label}\nbatch of {bar.images}" for bar in bars]
    axes.set_xticks(range(len(bars)), labels, parse_math=False)
    axes.set_ylim(0, 1.15 * top)
