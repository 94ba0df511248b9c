"""Files that say which texture each test image of 9-class ImageNet has, in three clusterings of nine textures."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from fairflac.checkpoint import read_tensors
from fairflac.data.synsets import class_of
from fairflac.errors import UserError
from fairflac.files import write_text

TEXTURES = ("texture1", "texture2", "texture3")
CLUSTERS = 9
MIN_CELL = 10  # images that a cell of class and texture needs for its accuracy to count
PUBLISHED = "9class_imagenet_val.csv"
TENSORS = ("cluster_label_1.pth", "cluster_label_2.pth", "cluster_label_3.pth")  # the same, without paths
COMPUTED = "computed.csv"  # ours; a name of its own, so that nobody takes it for the published one
COLUMNS = ("cluster1", "cluster2", "cluster3")


def texture_file(folder: Path) -> Path | None:
    """Where textures are read from: the published table, the published tensors (their first), our table, or nowhere."""
    return next((folder / name for name in (PUBLISHED, *TENSORS, COMPUTED) if (folder / name).exists()), None)


def read_textures(folder: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """(N,) int64 for each clustering, in the order of `names` (`synset/file`, sorted); empty without such files."""
    path = texture_file(folder)
    if path is None:
        return {}
    columns = _from_table(path, names) if path.suffix == ".csv" else _from_tensors(folder, names)
    return dict(zip(TEXTURES, columns, strict=True))


def write_textures(path: Path, names: Sequence[str], textures: Mapping[str, np.ndarray]) -> None:
    """In the form of the published table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("path", "category", *COLUMNS))
    writer.writerows(zip(names, map(class_of, names), *(textures[name] for name in TEXTURES), strict=True))
    write_text(path, text.getvalue())


def _from_table(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        clusters = {row["path"]: [int(row[column]) for column in COLUMNS] for row in rows}
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        columns = ", ".join(("path", "category", *COLUMNS))
        raise _wrong(path, f"is no table of {columns} with whole numbers as clusters ({error})") from error
    if len(clusters) < len(rows):
        raise _wrong(path, "lists an image twice")
    if unlisted := [name for name in names if name not in clusters]:
        raise _wrong(path, f"has no line for {_some(unlisted)}")
    if lacking := sorted(clusters.keys() - set(names)):
        raise _wrong(path, f"lists {len(clusters)} images, and 'val' lacks {_some(lacking)}")
    table = np.array([clusters[name] for name in names], dtype=np.int64)
    return [_checked(path, column) for column in table.T]


def _from_tensors(folder: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Rows are in the order of sorted paths, so nothing but their number can be checked."""
    columns = []
    for path in (folder / name for name in TENSORS):
        try:
            tensor = read_tensors(path)
        except FileNotFoundError:
            raise _wrong(path, "is missing beside the others") from None
        except Exception as error:  # torch raises nearly anything on damaged files
            raise _wrong(path, "cannot be read as a tensor") from error
        if not isinstance(tensor, torch.Tensor) or tensor.is_floating_point() or tensor.dim() != 1:
            raise _wrong(path, "is no list of whole numbers")
        if len(tensor) != len(names):
            raise _wrong(path, f"has {len(tensor)} entries, and 'val' has {len(names)} images")
        columns.append(_checked(path, tensor.numpy().astype(np.int64)))
    return columns


def _checked(path: Path, clusters: np.ndarray) -> np.ndarray:
    wrong = clusters[(clusters < 0) | (clusters >= CLUSTERS)]
    if len(wrong):
        raise _wrong(path, f"has the cluster {wrong[0]}, and there are 0 to {CLUSTERS - 1}")
    return clusters


def _wrong(path: Path, what: str) -> UserError:
    return UserError(
        f"'{path}' {what}: put the file there that belongs to these images, or remove it to do without textures"
    )


def _some(names: Sequence[str]) -> str:
    return f"'{names[0]}'" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
