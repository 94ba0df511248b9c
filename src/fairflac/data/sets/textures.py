"""Textures found by clustering: K-means on Gram matrices of VGG features (Bahng et al., ICML 2020)."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairflac.data.own.listing import MEAN, STD
from fairflac.data.sets.synsets import class_of
from fairflac.errors import UserError
from fairflac.nets.vgg import VGG16
from fairflac.system.checkpoint import read_tensors
from fairflac.system.files import write_text
from fairflac.system.progress import meter

BATCH = 32
SAMPLES = 1024  # of one step of K-means


def compute_textures(images: np.ndarray, weights: Path, *, silent: bool = False) -> dict[str, np.ndarray]:
    """(N, H, W, 3) uint8 → (N,) clusters from 0 to 8, three times over from different beginnings, always the same ones.

    `weights` is a file of torchvision's VGG-16.
    """
    from sklearn.cluster import MiniBatchKMeans  # takes a second to import, and whoever has cluster files needs it not

    styles = gram_matrices(images, VGG16(weights).eval(), silent=silent)
    found = {}
    for seed, name in enumerate(TEXTURES):
        means = MiniBatchKMeans(CLUSTERS, batch_size=SAMPLES, n_init=3, random_state=seed)
        found[name] = means.fit_predict(styles).astype(np.int64)
    return found


@torch.no_grad()
def gram_matrices(images: np.ndarray, net: torch.nn.Module, *, silent: bool = False) -> np.ndarray:
    """One row of length one per image: which features of the net occur together, wherever in the image that is.

    A Gram matrix is symmetric, so its upper triangle is enough; what is counted once there and twice in the whole
    carries √2, so that distances are those of whole matrices.
    """
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, STD))
    rows: list[Tensor] = []
    with meter("textures", len(images), silent=silent) as bar:
        for start in range(0, len(images), BATCH):
            part = torch.from_numpy(np.array(images[start : start + BATCH])).permute(0, 3, 1, 2)
            features = net((part / 255 - mean) / std).flatten(2)  # (B, C, positions)
            gram = features @ features.mT
            upper = torch.triu_indices(*gram.shape[1:])
            weight = torch.where(upper[0] == upper[1], 1.0, math.sqrt(2))
            rows.append(torch.nn.functional.normalize(gram[:, upper[0], upper[1]] * weight))
            bar.advance(len(part))
    styles: np.ndarray = torch.cat(rows).numpy()
    return styles


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
