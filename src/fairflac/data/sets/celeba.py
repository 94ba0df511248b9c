"""CelebA: blond hair or heavy makeup, which go with gender."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, final

import numpy as np

from fairflac.data.base import BiasedDataset, Dataset, Split, hash_split
from fairflac.data.own.listing import Size
from fairflac.data.pixels.cache import check_images
from fairflac.data.pixels.decode import Framing
from fairflac.data.sets.faces import ATTRIBUTES, Faces, face_task, read_faces
from fairflac.data.sources import ManualSource
from fairflac.errors import UserError
from fairflac.system.progress import tell

ATTRIBUTE_FILE, PARTITION_FILE = "list_attr_celeba.txt", "list_eval_partition.txt"
TRAIN, VALIDATION, TEST = 0, 1, 2  # as the partition file numbers them


@dataclass(frozen=True)
class Annotations:
    """Partition and attributes of the images, sorted by name; all columns go together."""

    names: np.ndarray  # (N,) str, 000001.jpg
    partition: np.ndarray  # (N,) int64
    attributes: dict[str, np.ndarray]  # (N,) int64, 1 where an image has it


def read_annotations(folder: Path, wanted: tuple[str, ...]) -> Annotations:
    """Both files, which must speak of the same images."""
    attributes = _read_attributes(folder / ATTRIBUTE_FILE, wanted)
    partition = _read_partition(folder / PARTITION_FILE)
    if lonely := attributes.keys() ^ partition.keys():
        raise UserError(
            f"'{min(lonely)}' is in only one of {ATTRIBUTE_FILE} and {PARTITION_FILE} in '{folder}': fetch both again"
        )
    names = sorted(attributes)
    values = np.array([attributes[name] for name in names], dtype=np.int64).reshape(len(names), len(wanted))
    return Annotations(
        names=np.array(names),
        partition=np.array([partition[name] for name in names], dtype=np.int64),
        attributes=dict(zip(wanted, values.T, strict=True)),
    )


def _read_attributes(path: Path, wanted: tuple[str, ...]) -> dict[str, list[bool]]:
    """A line with the number of images, one with the names of attributes, then an image with 1 or -1 for each."""
    lines = _lines(path)
    columns = lines[1].split() if len(lines) > 1 else []
    if missing := [name for name in wanted if name not in columns]:
        raise UserError(f"line 2 of '{path}' names no attribute {', '.join(missing)}: fetch the file again")
    positions = [1 + columns.index(name) for name in wanted]
    found = {}
    for number, line in enumerate(lines[2:], start=3):
        fields = line.split()
        if len(fields) != 1 + len(columns) or any(fields[i] not in ("1", "-1") for i in positions):
            raise UserError(f"line {number} of '{path}' is not a name and {len(columns)} times 1 or -1: fetch it again")
        found[fields[0]] = [fields[i] == "1" for i in positions]
    return found


def _read_partition(path: Path) -> dict[str, int]:
    found = {}
    for number, line in enumerate(_lines(path), start=1):
        name, _, part = line.partition(" ")
        if part.strip() not in ("0", "1", "2"):
            raise UserError(f"line {number} of '{path}' is not a name and 0, 1 or 2: fetch the file again")
        found[name] = int(part)
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: 'fairflac data get celeba' says how to obtain it") from error
    except UnicodeDecodeError as error:
        raise UserError(f"'{path}' is not a text file: fetch it again") from error


BLOND_IMAGES = 93_141  # to train on: most of the non-blond women are left out
IMAGES = "img_align_celeba"
PUBLISHED = {"train": 162770, "validation": 19867, "test": 19962}
LABELS = {"blond": "Blond_Hair", "makeup": "Heavy_Makeup"}
CLASSES = {"blond": ("not blond", "blond"), "makeup": ("no heavy makeup", "heavy makeup")}
FEMALE = ATTRIBUTES["gender"].values.index("female")
WOMEN_NOT_BLOND = 2000  # of about 70,000: the others would leave no bias to speak of
FEW = 30  # images in a group whose accuracy still says something
# The part that each split is taken from.
PARTS: dict[str, dict[Split, int]] = {
    "official": {"train": TRAIN, "validation": VALIDATION, "test": TEST},
    "authors": {"train": TRAIN, "validation": TRAIN, "test": VALIDATION},
}
AUTHORS_SHARES = (0.8, 0.2)  # of the training part: train, validation


def _target_path(path: PurePosixPath) -> str | None:
    if path.name in (ATTRIBUTE_FILE, PARTITION_FILE):
        return path.name
    return f"{IMAGES}/{path.name}" if path.suffix == ".jpg" and path.parent.name == IMAGES else None


MANUAL = ManualSource(
    name="celeba",
    steps=(
        "Read the agreement on https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (non-commercial research only)",
        f"From its Google Drive or Baidu folder download Img/{IMAGES}.zip, Anno/{ATTRIBUTE_FILE} and "
        f"Eval/{PARTITION_FILE}",
        f"Unpack {IMAGES}.zip beside the two lists",
    ),
    layout=(f"{IMAGES}/000001.jpg … {IMAGES}/202599.jpg", ATTRIBUTE_FILE, PARTITION_FILE),
    size="1.4 GB, 202,599 images of 178 x 218 pixels; the cache takes 14 GB (blond) or 24 GB (makeup) for training at "
    "224 pixels, 6 GB for the other splits",
    target_path=_target_path,
)


@final
class CelebA(Dataset):
    """CelebA (Liu et al., ICCV 2015), used as by Hong and Yang (NeurIPS 2021).

    Input: `size` x `size` RGB, an aligned face with hair, 178 x 218 squeezed to a square.
    Class: the option `label`: `blond` hair or not, or heavy `makeup` or not.
    Bias: `gender`; most who are blond or wear heavy makeup are women. For `blond` all women who are not blond but 2,000
        distinct ones are left out of training.
    Splits: CelebA's own train, validation and test parts, which share no person. `protocol = "authors"`: 80 % of the
        train part, 20 % of it as validation, and the validation part as test. What is chosen follows from the names
        and `split_seed`, and is the same for all seeds of a run.
    Source: https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, `fairflac data get celeba --from FOLDER`.
    Licence: non-commercial research only; the images belong to their owners.
    Deviations: the authors' 2,000 women are 1,015 distinct ones, their test images are flipped at random, and they
        never use the test part. Of men with heavy makeup their test images have 9, so that one of them moves the
        conflicting accuracy by 5.6 points; we warn of groups below 30.
    """

    name: ClassVar[str] = "celeba"
    training_images: ClassVar[int | None] = 162_770
    attributes: ClassVar[tuple[str, ...] | None] = ("gender",)
    framing = Framing(fit="squash")

    def __init__(
        self,
        seed: int = 0,
        *,
        label: Literal["blond", "makeup"] = "blond",
        protocol: Literal["official", "authors"] = "official",
        size: Size = 224,
        split_seed: int = 0,
        strict: bool = False,  # an image that cannot be read is an error, instead of left out
    ) -> None:
        self.seed = seed
        self.label, self.protocol, self.size = label, protocol, size
        self.split_seed, self.strict = split_seed, strict

    @classmethod
    def expected_images(cls, options: Mapping[str, Any]) -> int | None:
        return BLOND_IMAGES if options.get("label") == "blond" else cls.training_images

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        MANUAL.get(root, source, say)

    @classmethod
    def check(cls, root: Path) -> list[str]:
        folder = MANUAL.folder(root)
        annotations = read_annotations(folder, ("Male", *LABELS.values()))
        lines = []
        for (split, published), part in zip(PUBLISHED.items(), (TRAIN, VALIDATION, TEST), strict=True):
            rows = np.flatnonzero(annotations.partition == part)
            if len(rows) != published:
                raise UserError(f"'{folder / PARTITION_FILE}' lists {len(rows)} images for {split}, not {published}")
            lines.append(f"{split}: {published} images")
            for label, classes in CLASSES.items():
                counts = group_counts(label_faces(annotations, label).take(rows), classes)
                lines.append(f"{split} {label}: " + ", ".join(f"{group} {n}" for group, n in counts.items()))
        check_images(folder / IMAGES, annotations.names.tolist(), label=cls.name)
        return lines

    def load(self, root: Path, split: Split) -> BiasedDataset:
        folder = MANUAL.folder(root)
        annotations = read_annotations(folder, ("Male", LABELS[self.label]))
        faces = label_faces(annotations, self.label)
        faces = faces.take(self.choose(faces, annotations.partition, split))
        if len(faces) == 0:
            raise UserError(f"'{folder / PARTITION_FILE}' leaves no image for {split}: fetch it again")
        if split != "train":
            warn_of_few(faces, CLASSES[self.label], split)
        task = face_task(CLASSES[self.label], ("gender",), self.size)
        images, cache = folder / IMAGES, root / "cache"
        return read_faces(images, faces, split, task, self.framing, cache, strict=self.strict, label=self.name)

    def choose(self, faces: Faces, partition: np.ndarray, split: Split) -> np.ndarray:
        """Sorted positions of a split."""
        part = PARTS[self.protocol][split]
        rows = np.flatnonzero(partition == part)
        if part != TRAIN:
            return rows
        if self.label == "blond":
            rows = self._with_few_women(rows, faces)
        if self.protocol == "authors":
            train, validation = hash_split(faces.names[rows].tolist(), AUTHORS_SHARES, self.split_seed)
            rows = rows[train if split == "train" else validation]
        return np.sort(rows)

    def _with_few_women(self, rows: np.ndarray, faces: Faces) -> np.ndarray:
        rare = (faces.y[rows] == 0) & (faces.bias["gender"][rows] == FEMALE)
        women = rows[rare]
        (order,) = hash_split(faces.names[women].tolist(), (1.0,), self.split_seed)
        return np.concatenate([rows[~rare], women[order[:WOMEN_NOT_BLOND]]])


def label_faces(annotations: Annotations, label: str) -> Faces:
    # The list says 1 for men, who come first in all our sets.
    return Faces(
        annotations.names, annotations.attributes[LABELS[label]], {"gender": 1 - annotations.attributes["Male"]}
    )


def group_counts(faces: Faces, classes: tuple[str, ...]) -> dict[str, int]:
    """Images in each group of class and gender."""
    genders = ATTRIBUTES["gender"].values
    counts = np.bincount(2 * faces.y + faces.bias["gender"], minlength=4)
    groups = [f"{gender} {name}" for name in classes for gender in genders]
    return dict(zip(groups, counts.tolist(), strict=True))


def warn_of_few(faces: Faces, classes: tuple[str, ...], split: Split) -> None:
    for group, number in group_counts(faces, classes).items():
        if number < FEW:
            effect = f"one image moves its accuracy by {100 / number:.1f} points" if number else "it is not measured"
            tell(f"celeba {split}: the group '{group}' has {number} images, {effect}")
