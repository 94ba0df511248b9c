"""9-class ImageNet: photographs of animals, whose texture gives their class away."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.own.folder import Share, Size
from fairflac.data.own.listing import MEAN, STD, aligned_values
from fairflac.data.own.splitting import split_by_content
from fairflac.data.pixels.cache import Images, read_images
from fairflac.data.pixels.decode import Framing
from fairflac.data.sets.synsets import ALL, CLASSES, SynsetFiles, first_damaged, list_synsets
from fairflac.data.sets.textures import (
    CLUSTERS,
    COMPUTED,
    MIN_CELL,
    PUBLISHED,
    TENSORS,
    compute_textures,
    read_textures,
    texture_file,
    write_textures,
)
from fairflac.data.sources.archives import link_folders
from fairflac.errors import UserError
from fairflac.types import Attribute, TaskSpec

Part = Literal["train", "val"]
PER_SYNSET: dict[Part, tuple[int, int]] = {"train": (732, 1300), "val": (50, 50)}  # fewest and most images
FRAMING = Framing(margin=8 / 7)  # 256 pixels are kept of which the network sees 224, as everywhere with ImageNet
TEXTURE_SIZE = 224

HOW_TO_GET = """
imagenet9: ImageNet is given to researchers and teachers who accept its terms, so it cannot be fetched for you
1. ask for access on the ImageNet site and download the images of ILSVRC 2012: training (138 GB), validation (6 GB)
2. unpack them so that every synset has its folder: FOLDER/train/n02085620/*.JPEG, FOLDER/val/n02085620/*.JPEG
   42 synsets of the 1000 are needed, about 57,000 images and 6 GB: their ids are in fairflac.data.sets.synsets
3. optional, for the unbiased accuracy: 9class_imagenet_val.csv of the ReBias repository as FOLDER/clusters/, or
   later --set texture_weights=FILE with torchvision's VGG-16 (vgg16-397923af.pth, from PyTorch's model zoo page)
4. fairflac data get imagenet9 --from FOLDER  (links the folders, copies no image)
""".strip()


@final
class ImageNet9(Dataset):
    """9-class ImageNet (Bahng et al., ICML 2020): 42 synsets of ImageNet in nine classes.

    Input: `size` x `size` RGB from the centre of each image, whose shorter side is 8/7 of that.
    Class: dog, cat, frog, turtle, bird, monkey, fish, crab, insect.
    Bias: `texture1`, `texture2`, `texture3`, three clusterings of the test images into nine textures each, where files
        say so or `texture_weights` (of a VGG-16) lets us compute them; scores are means of the three, over cells of
        class and texture with ten images or more. A texture goes with the class that has it most above its share.
        Training images have none.
    Splits: train is ImageNet's, less a share `validation` chosen by content and seed; test is ImageNet's validation
        set, 2,100 images.
    Source: ImageNet (ILSVRC 2012) in `imagenet/{train,val}/SYNSET/`, textures in `imagenet/clusters/`.
    Licence: ImageNet's terms, for research and education; the published textures MIT.
    Deviations: classes are found by synset id, so that the other 958 folders may be absent; the authors count folders.
        `validation = 0` trains on all images, as they do, and leaves them on disk instead of in memory.
    """

    name: ClassVar[str] = "imagenet9"
    attributes: ClassVar[tuple[str, ...] | None] = None
    framing = FRAMING

    def __init__(
        self,
        seed: int = 0,
        *,
        size: Size = 224,
        validation: Share = 0.1,
        texture_weights: Path | None = None,
        strict: bool = False,  # an image that cannot be read is an error, instead of left out
    ) -> None:
        self.seed = seed
        self.size, self.validation, self.strict = size, validation, strict
        self.texture_weights = None if texture_weights is None else Path(texture_weights).expanduser()

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        if source is None:
            for line in HOW_TO_GET.splitlines():
                say(line)
            return
        folder = root / "imagenet"
        for part in PER_SYNSET:
            _complete(source / part)
        for part in PER_SYNSET:
            linked = link_folders(source / part, folder / part, ALL)
            say(f"imagenet9: {linked} folders of '{source / part}' linked in '{folder / part}'")
        for file in (source / "clusters" / name for name in (PUBLISHED, *TENSORS)):
            place = folder / "clusters" / file.name
            if file.is_file() and file.resolve() != place.resolve():
                place.parent.mkdir(exist_ok=True)
                shutil.copyfile(file, place)
                say(f"imagenet9: textures from '{file}'")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        folder, lines = root / "imagenet", []
        for part, (fewest, most) in PER_SYNSET.items():
            files = _complete(folder / part)
            counts = {synset: sum(name.startswith(synset) for name in files.names) for synset in ALL}
            for synset, count in counts.items():
                if not fewest <= count <= most:
                    wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
                    raise UserError(f"'{folder / part / synset}' has {count} images, not {wanted}: unpack it again")
            if damaged := first_damaged(folder / part, files.names):
                raise UserError(f"'{folder / part / damaged}' is no image: unpack it again")
            per_class = (f"{name} {np.sum(files.y == y)}" for y, name in enumerate(CLASSES))
            lines.append(f"{part}: {len(files.names)} images: {', '.join(per_class)}")
        textures = read_textures(folder / "clusters", files.names)
        lines.append(f"textures: {texture_file(folder / 'clusters') or 'none, so there will be no unbiased accuracy'}")
        return lines + [_cells_line(name, files.y, codes) for name, codes in textures.items()]

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        part: Part = "val" if split == "test" else "train"
        folder = root / "imagenet"
        files = _complete(folder / part)
        images = read_photos(folder / part, files, self.size, root / "cache", self.strict)
        y = files.y[images.kept]
        rows = self._rows(split, images, y)
        if len(rows) == 0 and split == "validation":
            return None
        textures = self._textures(root, files) if split == "test" else {}
        bias = {name: codes[images.kept] for name, codes in textures.items()}
        return BiasedDataset(
            images=images.pixels if len(rows) == len(y) else images.pixels[rows],  # all of them: none need be copied
            y=y[rows],
            bias=bias,
            names=np.array(files.names)[images.kept][rows],
            split=split,
            task=nine_class_task(self.size, {name: _attribute(y, codes) for name, codes in bias.items()}),
        )

    def _rows(self, split: Split, images: Images, y: np.ndarray) -> np.ndarray:
        if split == "test":
            return np.arange(len(y))
        return split_by_content(images.digests, y, self.seed, self.validation, test=0)[split]

    def _textures(self, root: Path, files: SynsetFiles) -> dict[str, np.ndarray]:
        clusters, val = root / "imagenet" / "clusters", root / "imagenet" / "val"
        if texture_file(clusters) is None and self.texture_weights is not None:
            images = read_photos(val, files, TEXTURE_SIZE, root / "cache")
            if images.broken:
                broken = val / next(iter(images.broken))
                raise UserError(f"'{broken}' cannot be read, and textures need every image: unpack it again")
            edge = (images.pixels.shape[1] - TEXTURE_SIZE) // 2
            centre = images.pixels[:, edge:, edge:][:, :TEXTURE_SIZE, :TEXTURE_SIZE]
            write_textures(clusters / COMPUTED, files.names, compute_textures(centre, self.texture_weights))
        return read_textures(clusters, files.names)


def read_photos(folder: Path, files: SynsetFiles, size: int, cache: Path, strict: bool = False) -> Images:
    """With the margin that a crop of `size` is taken from."""
    stored, label = FRAMING.stored((size, size)), f"ImageNet {folder.name}"
    return read_images(folder, files.names, stored, cache, fit=FRAMING.fit, strict=strict, label=label)


def nine_class_task(size: int, attributes: dict[str, Attribute]) -> TaskSpec:
    return TaskSpec(classes=CLASSES, attributes=attributes, image_size=(size, size), mean=MEAN, std=STD)


def _complete(folder: Path) -> SynsetFiles:
    """The files under a folder that must have all 42 synsets."""
    files = list_synsets(folder)
    if not files.absent:
        return files
    missing = ", ".join(files.absent[:3]) + (", …" if len(files.absent) > 3 else "")
    unsorted = folder.is_dir() and any(entry.suffix == ".JPEG" for entry in folder.iterdir())
    advice = "sort its images into a folder for each synset" if unsorted else "'fairflac data get imagenet9' says how"
    raise UserError(f"'{folder}' lacks images of {len(files.absent)} of 42 synsets ({missing}): {advice}")


def _attribute(y: np.ndarray, codes: np.ndarray) -> Attribute:
    aligned = aligned_values(y, codes, len(CLASSES), CLUSTERS)
    return Attribute(tuple(map(str, range(CLUSTERS))), aligned, min_cell=MIN_CELL, repeats="texture")


def _cells_line(name: str, y: np.ndarray, codes: np.ndarray) -> str:
    cells = np.bincount(y * CLUSTERS + codes, minlength=len(CLASSES) * CLUSTERS)
    counted = cells[cells >= MIN_CELL]
    return f"{name}: {len(counted)} of {len(cells)} cells have {MIN_CELL} images or more, {counted.sum()} images in all"
