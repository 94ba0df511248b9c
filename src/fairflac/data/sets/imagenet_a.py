"""ImageNet-A: photographs that ordinary classifiers get wrong, as a test of models of 9-class ImageNet."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, final

import numpy as np

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.own.listing import Size
from fairflac.data.sets.imagenet9 import (
    ALL,
    CLASSES,
    FRAMING,
    SynsetFiles,
    first_damaged,
    list_synsets,
    nine_class_task,
    read_photos,
)
from fairflac.data.sources import link_folders
from fairflac.errors import UserError
from fairflac.system.progress import tell

FOLDER = "imagenet-a"
HOW_TO_GET = """
imagenet-a: download imagenet-a.tar (7,500 images, 0.7 GB) from the page of its authors, Hendrycks et al., and unpack it
every synset has its folder: FOLDER/n01641577/*.jpg; those of 9-class ImageNet are used, 21 of its 42
fairflac data get imagenet-a --from FOLDER  (links the folders, copies no image)
""".strip()


@final
class ImageNetA(Dataset):
    """ImageNet-A (Hendrycks et al., CVPR 2021), what it has of the nine classes: a test set for `imagenet9`.

    Input: as `imagenet9`.
    Class: as `imagenet9`; those that ImageNet-A has no images of (crab, in the published set) are named.
    Bias: not known.
    Splits: test only.
    Source: ImageNet-A in `imagenet-a/SYNSET/`.
    Licence: MIT for the collection; the photographs are their owners'.
    Deviations: none.
    """

    name: ClassVar[str] = "imagenet-a"
    attributes: ClassVar[tuple[str, ...] | None] = ()
    framing = FRAMING

    def __init__(self, seed: int = 0, *, size: Size = 224, strict: bool = False) -> None:
        self.seed = seed
        self.size, self.strict = size, strict

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        if source is None:
            for line in HOW_TO_GET.splitlines():
                say(line)
            return
        files = _present(source)
        linked = link_folders(source, root / FOLDER, (synset for synset in ALL if synset not in files.absent))
        say(f"imagenet-a: {linked} folders of '{source}' linked in '{root / FOLDER}'")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        files = _present(root / FOLDER)
        if damaged := first_damaged(root / FOLDER, files.names):
            raise UserError(f"'{root / FOLDER / damaged}' is not an image: unpack it again")
        counts = (f"{name} {np.sum(files.y == y)}" for y, name in enumerate(CLASSES))
        lines = [f"{len(files.names)} images of {len(ALL) - len(files.absent)} synsets: {', '.join(counts)}"]
        return lines + _absent_line(files)

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        if split == "train":
            raise UserError("imagenet-a is a test set: train on imagenet9, and evaluate that run on imagenet-a")
        if split == "validation":
            return None
        files = _present(root / FOLDER)
        for line in _absent_line(files):
            tell(line)
        images = read_photos(root / FOLDER, files, self.size, root / "cache", self.strict)
        return BiasedDataset(
            images=images.pixels,
            y=files.y[images.kept],
            bias={},
            names=np.array(files.names)[images.kept],
            split=split,
            task=nine_class_task(self.size, {}),
        )


def _present(folder: Path) -> SynsetFiles:
    files = list_synsets(folder)
    if not files.names:
        raise UserError(f"'{folder}' has no images of the nine classes: 'fairflac data get imagenet-a' tells how")
    return files


def _absent_line(files: SynsetFiles) -> list[str]:
    """None or one: accuracy is over the other classes, and a model may still name these, wrongly."""
    absent = files.absent_classes
    return [f"imagenet-a: no images of {', '.join(absent)}: accuracy is over the other classes"] if absent else []
