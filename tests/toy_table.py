"""The toy task as a user's own images: PNG files and a CSV table with splits, in which any label can be changed."""

import csv
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from fairflac.runs.directory import Workspace
from toy import TASK, toy_data

SPLITS = {"train": 64, "val": 48, "test": 32}
SETTINGS = {
    "net": "simple-conv",
    "channels": [4, 4, 4, 4],
    "kernel_size": 3,
    "size": 8,
    "augment": "none",
    "batch_size": 8,
    "precision": "32-true",
    "schedule": "constant",
    "lr": 0.01,
}
Row = dict[str, str]


def toy_table(folder: Path, change: Callable[[Row], Row] = lambda row: row) -> Path:
    """Writes the images and the table; `change` may replace any of its rows."""
    rows = []
    for split, (name, n) in enumerate(SPLITS.items()):
        data = toy_data(n, conflicting=0.25, seed=split)
        for i in range(n):
            path = folder / f"{name}{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(data.images[i]).save(path)
            shade = TASK.attributes["shade"].values[data.bias["shade"][i]]
            rows.append(change({"path": path.name, "label": TASK.classes[data.y[i]], "split": name, "shade": shade}))
    with (folder / "table.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["path", "label", "split", "shade"])
        writer.writeheader()
        writer.writerows(rows)
    return folder / "table.csv"


def flipped(column: str, split: str) -> Callable[[Row], Row]:
    """A change: all values of a column take the other value in one split."""
    values = TASK.classes if column == "label" else TASK.attributes[column].values

    def change(row: Row) -> Row:
        return {**row, column: values[1 - values.index(row[column])]} if row["split"] == split else row

    return change


def settings(table: Path, **own: object) -> dict[str, object]:
    return {**SETTINGS, "epochs": 6, "path": str(table), **own}


def workspace(folder: Path) -> Workspace:
    return Workspace(folder / "runs", folder / "data", silent=True)
