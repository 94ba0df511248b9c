"""How training went, epoch by epoch."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fairflac.reporting.figures.style import INK, MODEL, SERIES, Drawing, NothingToDraw, legend, panels, short, tidy
from fairflac.runs.directory import Run

LINES = ("-", "--", ":", "-.")
FEW = 30  # epochs; each of so few is worth a dot


class Quantity(NamedTuple):
    """Something that a run logs per epoch."""

    title: str
    path: tuple[str, ...]  # where it stands in an entry of the history
    share: bool = False  # between 0 and 1


QUANTITIES = (
    Quantity("training loss", ("loss",)),
    Quantity("validation accuracy", ("validation", "accuracy"), share=True),
    Quantity("validation accuracy (groups alike)", ("validation", "unbiased"), share=True),
    Quantity("pairs in S per batch", ("pairs",)),
    Quantity("threshold of S (similarity)", ("threshold",), share=True),
)


def training_curves(models: Mapping[str, Run], columns: int = 3) -> Drawing:
    """A line per model: the loss, accuracy where there is validation data, |S| and its threshold where there is S.

    Losses of different methods are different sums: compare how they fall, not how high they are. A FLAC whose |S|
    is near zero does nothing (paper, Eq. 1 and Fig. 5).
    """
    histories = {name: run.history for name, run in models.items() if (run.path / "metrics.jsonl").exists()}
    histories = {name: history for name, history in histories.items() if history}
    shown = [quantity for quantity in QUANTITIES if any(series(h, quantity)[0] for h in histories.values())]
    if not shown:
        raise NothingToDraw("none of these runs has logged an epoch")
    columns = min(columns, len(shown))
    lines = -(-len(histories) // (2 * columns))
    figure, axes = panels(len(shown), columns, (4.2, 2.6), extra=0.25 + 0.22 * lines)
    styles = dict(zip(histories, _styles(), strict=False))
    for axis, quantity in zip(axes, shown, strict=True):
        tidy(axis, quantity.title)
        _draw(axis, quantity, histories, styles)
    handles = [Line2D([], [], linewidth=1.8, **style) for style in styles.values()]
    legend(
        figure,
        handles,
        [short(name, MODEL) for name in histories],
        columns=min(2 * columns, len(histories)),
        loc="outside upper center",
    )
    figure.supxlabel("epoch", fontsize=10, color=INK)
    return Drawing(
        figure,
        f"Curves over the epochs for {', '.join(histories)}: {', '.join(quantity.title for quantity in shown)}. "
        "The caption has where they end.",
        f"At the end of training: {'; '.join(_end(name, history) for name, history in histories.items())}. "
        "These are means over the last epoch, or over the validation images; a run keeps no range of them."
        + (" Losses of different methods are different sums: compare how they fall." if len(histories) > 1 else ""),
    )


def series(history: list[dict[str, Any]], quantity: Quantity) -> tuple[list[int], list[float]]:
    """Epochs and values, where the quantity was logged."""
    epochs, values = [], []
    for entry in history:
        value: Any = entry
        for key in quantity.path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            epochs.append(int(entry["epoch"]))
            values.append(float(value))
    return epochs, values


def _styles() -> Any:
    """Colour and stroke both change from line to line, so that either is enough to tell them apart."""
    return ({"color": colour, "linestyle": line} for colour, line in zip(cycle(SERIES), cycle(LINES), strict=False))


def _draw(axes: Axes, quantity: Quantity, histories: Mapping[str, Any], styles: Mapping[str, Any]) -> None:
    found = {name: series(history, quantity) for name, history in histories.items()}
    values = [value for _, logged in found.values() for value in logged]
    for name, (epochs, logged) in found.items():
        if epochs:
            dot = "o" if len(epochs) <= FEW else None
            # A line at zero lies on the axis and is drawn over it.
            axes.plot(epochs, logged, linewidth=1.8, marker=dot, markersize=3, clip_on=False, **styles[name])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_ylim(1.08 * min(0.0, *values), 1.02 if quantity.share else 1.08 * max(0.0, *values) or 1.0)


def _end(name: str, history: list[dict[str, Any]]) -> str:
    ends = [(quantity.title, values[-1]) for quantity in QUANTITIES if (values := series(history, quantity)[1])]
    return f"{name}: " + ", ".join(f"{title} {value:.3g}" for title, value in ends)
