"""UTKFace, made biased: gender goes with race or with age."""

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, NamedTuple, final

import numpy as np

from fairflac.data.base import BiasedDataset, Dataset, Split, hash_split
from fairflac.data.own.listing import FRAMING, Size
from fairflac.data.pixels.cache import check_images, read_images
from fairflac.data.pixels.stored import rows_of
from fairflac.data.sets.faces import ATTRIBUTES, Faces, face_task
from fairflac.data.sources import ManualSource
from fairflac.errors import UserError

FILES = 23708  # of the published set, aligned and cropped
ADULT, CHILD = 20, 10  # years: from, up to; who is between is left out
MAJORITY = 10  # aligned images for every conflicting one
SHARES = (0.8, 0.1, 0.1)


def _target_path(path: PurePosixPath) -> str | None:
    return f"images/{path.name}" if path.suffix.lower() == ".jpg" else None


MANUAL = ManualSource(
    name="utkface",
    steps=(
        "Read the terms on https://susanqq.github.io/UTKFace/ (non-commercial research only)",
        "Follow its link to the aligned and cropped faces and download UTKFace.tar.gz",
    ),
    layout=("images/<age>_<gender>_<race>_<date and time>.jpg.chip.jpg",),
    size="about 110 MB, 23,708 images of 200 x 200 pixels; the cache takes 0.4 GB for images of 64 pixels",
    target_path=_target_path,
)


class Label(NamedTuple):
    """What a file's name says."""

    age: int
    gender: int  # 0 male, 1 female
    race: int  # 0 White, 1 Black, 2 Asian, 3 Indian, 4 others


@final
class UTKFace(Dataset):
    """UTKFace (Zhang et al., CVPR 2017), made biased as by Hong and Yang (NeurIPS 2021).

    Input: `size` x `size` RGB, an aligned face.
    Class: gender, male or female.
    Bias: the option `bias`: `race` (white or not) or `age` (20 and older, or 10 and younger; others are left out). In
        training most men are white or adult, most women are not: one conflicting image for every ten aligned ones of
        the same attribute value, so 1 / 1.1 = 90.9 % are aligned.
    Splits: 80 % train, of which the rule above leaves about half; the others are halved into validation and test, and
        not made biased. They follow from the names and `split_seed`, and are the same for all seeds of a run.
    Source: https://susanqq.github.io/UTKFace/, aligned and cropped, `fairflac data get utkface --from FOLDER`.
    Licence: non-commercial research only; the images belong to their owners.
    Deviations: the paper's split depends on the order of a directory listing and cannot be made again; ours depends on
        names. The set has several hundred files that are copies of others, some labelled otherwise: here copies stay
        in one split. Three files whose name lacks a field are left out, as by the authors.
    """

    name: ClassVar[str] = "utkface"
    training_images: ClassVar[int | None] = 10_600
    attributes: ClassVar[tuple[str, ...] | None] = ("race", "age")
    framing = FRAMING

    def __init__(
        self,
        seed: int = 0,
        *,
        bias: Literal["race", "age"] = "race",
        size: Size = 64,
        split_seed: int = 0,
        strict: bool = False,  # an image that cannot be read is an error, instead of left out
    ) -> None:
        self.seed = seed
        self.bias, self.size, self.split_seed, self.strict = bias, size, split_seed, strict

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        MANUAL.get(root, source, say)
        if source is not None and (left_out := list_names(root)[1]):
            say(_left_out_line(left_out))

    @classmethod
    def check(cls, root: Path) -> list[str]:
        names, left_out = list_names(root)
        folder, number = root / cls.name / "images", len(names) + len(left_out)
        if number != FILES:
            raise UserError(f"'{folder}' has {number} images, not {FILES}: run 'fairflac data get utkface --from …'")
        check_images(folder, [*names, *left_out], label=cls.name)
        lines = [f"{number} images", *([_left_out_line(left_out)] if left_out else [])]
        for bias in ("race", "age"):
            known = label_faces(names, bias)
            groups = np.bincount(2 * known.y + known.bias[bias], minlength=4)
            kinds = [f"{value} {gender}" for gender in ("male", "female") for value in ATTRIBUTES[bias].values]
            counts = ", ".join(f"{kind} {count}" for kind, count in zip(kinds, groups, strict=True))
            lines.append(f"{bias}: {len(known)} images ({counts})")
        return lines

    def load(self, root: Path, split: Split) -> BiasedDataset:
        # One cache for race and age: read everything, then choose.
        names, _ = list_names(root)
        folder, stored = root / self.name / "images", self.framing.stored((self.size, self.size))
        images = read_images(
            folder, names, stored, root / "cache", fit=self.framing.fit, strict=self.strict, label=self.name
        )
        readable = [names[i] for i in images.kept]
        known = label_faces(readable, self.bias)
        where = np.flatnonzero(np.isin(readable, known.names))  # both are sorted
        rows = divide(known, self.bias, self.split_seed, images.digests[where])[split]
        task = face_task(("male", "female"), (self.bias,), self.size)
        return known.take(rows).dataset(rows_of(images.pixels, where[rows]), split, task)


def parse(name: str) -> Label | None:
    """The label in a file's name; None when a field is missing or makes no sense."""
    fields = name.split("_")
    if len(fields) != 4 or not all(field.isascii() and field.isdigit() for field in fields[:3]):
        return None
    label = Label(*map(int, fields[:3]))
    return label if label.gender <= 1 and label.race <= 4 else None


def list_names(root: Path) -> tuple[list[str], list[str]]:
    """Sorted names that have a label, and those that have none."""
    folder = MANUAL.folder(root) / "images"
    found = sorted(path.name for path in folder.glob("*") if path.suffix.lower() == ".jpg" and path.name[0] != ".")
    names = [name for name in found if parse(name)]
    if not names:
        raise UserError(f"'{folder}' has no images of UTKFace: run 'fairflac data get utkface --from …'")
    return names, [name for name in found if not parse(name)]


def label_faces(names: Sequence[str], bias: Literal["race", "age"]) -> Faces:
    """Class and attribute of each name, without those whose age is between."""
    labels = {name: label for name in names if (label := parse(name))}
    if bias == "age":
        labels = {name: label for name, label in labels.items() if not CHILD < label.age < ADULT}
    values = [label.race > 0 if bias == "race" else label.age <= CHILD for label in labels.values()]
    genders = [label.gender for label in labels.values()]
    return Faces(np.array(list(labels)), np.array(genders, dtype=np.int64), {bias: np.array(values, dtype=np.int64)})


def divide(faces: Faces, bias: str, seed: int, digests: np.ndarray) -> dict[Split, np.ndarray]:
    """Sorted positions of each split; only the training split is made biased."""
    train, validation, test = hash_split(faces.names.tolist(), SHARES, seed, digests)
    biased = skew(train, faces.y, faces.bias[bias])
    return {"train": np.sort(biased), "validation": np.sort(validation), "test": np.sort(test)}


def skew(rows: np.ndarray, y: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Of each attribute value all aligned images, and the first conflicting ones up to a tenth of their number."""
    kept = []
    for value in (0, 1):
        of_value = rows[bias[rows] == value]
        aligned = of_value[y[of_value] == value]
        kept += [aligned, of_value[y[of_value] != value][: len(aligned) // MAJORITY]]
    return np.concatenate(kept)


def _left_out_line(names: list[str]) -> str:
    return f"{len(names)} files are left out, their names lack a field: {', '.join(names[:5])}"
