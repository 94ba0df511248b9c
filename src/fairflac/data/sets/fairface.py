"""FairFace: faces labelled with gender, race and age, on which bias models are trained."""

import csv
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.own.listing import FRAMING, Size
from fairflac.data.pixels.cache import check_images
from fairflac.data.sets.faces import Faces, face_task, read_faces
from fairflac.data.sources import ManualSource
from fairflac.errors import UserError

Part = Literal["train", "val"]
PUBLISHED: dict[Part, int] = {"train": 86744, "val": 10954}
FOLDERS = {"0.25": "margin025", "1.25": "margin125"}
Margin = Annotated[Literal["0.25", "1.25"], BeforeValidator(str)]  # --set margin=1.25 is a number

# What each label means to UTKFace and CelebA, as positions in `faces.ATTRIBUTES`. FairFace's bin 3-9 ends a year before
# UTKFace's children do; its bin 10-19 holds the years that UTKFace leaves out.
MEANINGS: dict[str, dict[str, int | None]] = {
    "gender": {"Male": 0, "Female": 1},
    "race": {
        "White": 0, "Black": 1, "Latino_Hispanic": 1, "East Asian": 1, "Southeast Asian": 1, "Indian": 1,
        "Middle Eastern": 1,
    },
    "age": {
        "0-2": 1, "3-9": 1, "10-19": None, "20-29": 0, "30-39": 0, "40-49": 0, "50-59": 0, "60-69": 0,
        "more than 70": 0,
    },
}  # fmt: skip


def _target_path(path: PurePosixPath) -> str | None:
    """Both published archives have the same names inside; only their own names tell the margins apart."""
    if re.fullmatch(r"fairface_label_(train|val)\.csv", path.name):
        return path.name
    if path.suffix.lower() != ".jpg" or path.parent.name not in ("train", "val"):
        return None
    margin = FOLDERS["1.25" if re.search(r"(margin|padding)[-_ =]*1\.?25", str(path.parent)) else "0.25"]
    return f"{margin}/{path.parent.name}/{path.name}"


MANUAL = ManualSource(
    name="fairface",
    steps=(
        "Open https://github.com/joojs/fairface; its images and labels are on Google Drive",
        "Download the images with padding 0.25 (for UTKFace) or 1.25 (for CelebA), a zip each",
        "Download the two tables of labels, fairface_label_train.csv and fairface_label_val.csv",
        "Do the next step for each zip, and once more for the folder of the tables",
    ),
    layout=(
        "fairface_label_train.csv, fairface_label_val.csv",
        "margin025/train/*.jpg, margin025/val/*.jpg (padding 0.25)",
        "margin125/train/*.jpg, margin125/val/*.jpg (padding 1.25; --from must have 'margin125' in its name)",
    ),
    size="about 0.6 GB (padding 0.25, 97,698 images of 224 x 224) or 2.1 GB (padding 1.25, 448 x 448); the cache takes "
    "1.5 GB for images of 64 pixels, 19 GB for 224",
    target_path=_target_path,
)


@final
class FairFace(Dataset):
    """FairFace (Kärkkäinen and Joo, WACV 2021).

    Input: `size` x `size` RGB, an aligned face with `margin` of its width around it, 0.25 as in UTKFace or 1.25; the
        framing of CelebA lies between the two.
    Class: gender, male or female; `target` names another attribute to predict.
    Bias: `gender`, `race` (White, or any other label) and, with `drop_teens`, `age` (20 and older, or 9 and younger).
        These are what a bias model learns, with the values of UTKFace and CelebA in their order.
    Splits: FairFace's own, train 86,744 and test 10,954, less those aged 10-19 with `drop_teens`; no validation split.
    Source: https://github.com/joojs/fairface, `fairflac data get fairface --from FOLDER`.
    Licence: CC BY 4.0.
    Deviations: the paper does not say how it maps labels to attributes; this is our choice.
    """

    name: ClassVar[str] = "fairface"
    training_images: ClassVar[int | None] = 86_744
    attributes: ClassVar[tuple[str, ...] | None] = ("gender", "race", "age")
    framing = FRAMING

    def __init__(
        self,
        seed: int = 0,
        *,
        margin: Margin = "0.25",
        drop_teens: bool = False,  # age has no value for them
        size: Size = 64,
        strict: bool = False,  # an image that cannot be read is an error, instead of left out
    ) -> None:
        self.seed = seed
        self.margin, self.drop_teens, self.size, self.strict = margin, drop_teens, size, strict

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        MANUAL.get(root, source, say)

    @classmethod
    def check(cls, root: Path) -> list[str]:
        folder = MANUAL.folder(root)
        margins = [margin for margin, name in FOLDERS.items() if (folder / name).is_dir()]
        if not margins:
            raise UserError(f"'{folder}' has no images: 'fairflac data get fairface' says how to obtain them")
        lines = []
        for part, published in PUBLISHED.items():
            rows = read_labels(folder / f"fairface_label_{part}.csv")
            lines.append(f"{part}: {len(rows)} labels of {published} published")
            for column, meanings in MEANINGS.items():
                counts = Counter(row[column] for row in rows)
                lines.append(f"{part} {column}: " + ", ".join(f"{value} {counts[value]}" for value in meanings))
            for margin in margins:
                names = [row["file"] for row in rows]
                check_images(folder / FOLDERS[margin], names, label=f"fairface {part}, margin {margin}")
                lines.append(f"{part}: {len(names)} images with margin {margin}")
        return lines

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        if split == "validation":
            return None
        folder = MANUAL.folder(root)
        images = folder / FOLDERS[self.margin]
        if not images.is_dir():
            other = next(margin for margin in FOLDERS if margin != self.margin)
            raise UserError(
                f"'{folder}' has no images with margin {self.margin}: 'fairflac data get fairface' says how to obtain "
                f"them, or set margin={other} (of a bias model: bias_model.margin={other})"
            )
        part: Part = "train" if split == "train" else "val"
        faces = label_faces(read_labels(folder / f"fairface_label_{part}.csv"), self.drop_teens)
        task = face_task(("male", "female"), tuple(faces.bias), self.size)
        cache = root / "cache"
        return read_faces(images, faces, split, task, self.framing, cache, strict=self.strict, label=self.name)


def read_labels(path: Path) -> list[dict[str, str]]:
    """The rows of a table, sorted by file, every value known."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: 'fairflac data get fairface' says how to obtain it") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"'{path}' is not a CSV file ({error}): fetch it again") from error
    for number, row in enumerate(rows, start=2):
        if not re.fullmatch(r"(train|val)/[^/]+", row.get("file") or ""):
            raise UserError(f"line {number} of '{path}' has no file such as train/1.jpg: fetch the table again")
        for column, meanings in MEANINGS.items():
            if row.get(column) not in meanings:
                raise UserError(
                    f"line {number} of '{path}': {column} '{row.get(column)}' is none of {', '.join(meanings)}: "
                    "fetch the table again"
                )
    if not rows:
        raise UserError(f"'{path}' lists no images: fetch it again")
    return sorted(rows, key=lambda row: row["file"])


def label_faces(rows: list[dict[str, str]], drop_teens: bool) -> Faces:
    """Class and attributes; age is one of them once everybody has a value."""
    if drop_teens:
        rows = [row for row in rows if MEANINGS["age"][row["age"]] is not None]
    names = ("gender", "race", "age") if drop_teens else ("gender", "race")
    bias = {name: np.array([MEANINGS[name][row[name]] for row in rows], dtype=np.int64) for name in names}
    return Faces(np.array([row["file"] for row in rows]), bias["gender"], bias)
