"""9-class ImageNet: photographs of animals, whose texture gives their class away."""

import csv
import io
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fairflac.data.base import BiasedDataset, Dataset, Split, stratified_split
from fairflac.data.own.listing import MEAN, STD, Share, Size, aligned_values
from fairflac.data.pixels.cache import Images, read_images
from fairflac.data.pixels.decode import Framing
from fairflac.data.pixels.stored import rows_of
from fairflac.data.sources import link_folders
from fairflac.errors import UserError
from fairflac.nets.textures import VGG16
from fairflac.system.checkpoint import read_tensors
from fairflac.system.files import write_text
from fairflac.system.progress import meter
from fairflac.types import Attribute, TaskSpec

SYNSETS: dict[str, tuple[str, ...]] = {
    "dog": ("n02085620", "n02099601", "n02106550", "n02106662", "n02110958"),
    "cat": ("n02123045", "n02123159", "n02123394", "n02123597", "n02124075"),
    "frog": ("n01641577", "n01644373", "n01644900"),
    "turtle": ("n01664065", "n01665541", "n01667114", "n01667778", "n01669191"),
    "bird": ("n01819313", "n01820546", "n01833805", "n01843383", "n01847000"),
    "monkey": ("n02486410", "n02487347", "n02488291", "n02488702", "n02492035"),
    "fish": ("n02607072", "n02640242", "n02641379", "n02643566", "n02655020"),
    "crab": ("n01978287", "n01978455", "n01980166", "n01981276"),
    "insect": ("n02174001", "n02177972", "n02190166", "n02206856", "n02219486"),
}
CLASSES = tuple(SYNSETS)
CLASS_OF = {synset: name for name, synsets in SYNSETS.items() for synset in synsets}
ALL = tuple(sorted(CLASS_OF))
SUFFIXES = (".jpeg", ".jpg", ".png")


@dataclass(frozen=True)
class SynsetFiles:
    """The images of the table under one folder."""

    names: tuple[str, ...]  # `synset/file`, sorted
    y: np.ndarray  # (N,) int64
    absent: tuple[str, ...]  # synsets without a folder, or without an image in it

    @property
    def absent_classes(self) -> tuple[str, ...]:
        """Those with no image at all."""
        return tuple(name for name in CLASSES if set(SYNSETS[name]) <= set(self.absent))


def list_synsets(folder: Path) -> SynsetFiles:
    """What is there of the 42; other synsets and files that are no images are passed over."""
    files = {synset: _images(folder / synset) for synset in ALL}
    names = tuple(f"{synset}/{file}" for synset, found in files.items() for file in found)
    y = np.array([CLASSES.index(class_of(name)) for name in names], dtype=np.int64)
    return SynsetFiles(names, y, tuple(synset for synset, found in files.items() if not found))


def class_of(name: str) -> str:
    """`n01641577/….JPEG` → `frog`."""
    return CLASS_OF[name.partition("/")[0]]


def first_damaged(folder: Path, names: Sequence[str]) -> str | None:
    """The first file that does not even begin like an image; reading the beginnings takes seconds, not minutes."""
    for name in names:
        try:
            Image.open(folder / name).close()
        except (OSError, ValueError, Image.DecompressionBombError):
            return name
    return None


def _images(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    entries = (entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return sorted(name for name in entries if name.lower().endswith(SUFFIXES))


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


Part = Literal["train", "val"]
PER_SYNSET: dict[Part, tuple[int, int]] = {"train": (732, 1300), "val": (50, 50)}  # fewest and most images
FRAMING = Framing(margin=8 / 7)  # 256 pixels are kept of which the network sees 224, as everywhere with ImageNet
TEXTURE_SIZE = 224

HOW_TO_GET = """
imagenet9: ImageNet is given to researchers and teachers who accept its terms, so it cannot be fetched for you
1. ask for access on the ImageNet site and download the images of ILSVRC 2012: training (138 GB), validation (6 GB)
2. unpack them so that every synset has its folder: FOLDER/train/n02085620/*.JPEG, FOLDER/val/n02085620/*.JPEG
   42 synsets of the 1000 are needed, about 57,000 images and 6 GB: their ids are in fairflac.data.sets.imagenet9
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
    training_images: ClassVar[int | None] = 54_600
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
                raise UserError(f"'{folder / part / damaged}' is not an image: unpack it again")
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
            images=rows_of(images.pixels, rows),
            y=y[rows],
            bias=bias,
            names=np.array(files.names)[images.kept][rows],
            split=split,
            task=nine_class_task(self.size, {name: _attribute(y, codes) for name, codes in bias.items()}),
        )

    def _rows(self, split: Split, images: Images, y: np.ndarray) -> np.ndarray:
        if split == "test":
            return np.arange(len(y))
        return stratified_split(images.digests, y, self.seed, self.validation, test=0)[split]

    def _textures(self, root: Path, files: SynsetFiles) -> dict[str, np.ndarray]:
        clusters, val = root / "imagenet" / "clusters", root / "imagenet" / "val"
        if texture_file(clusters) is None and self.texture_weights is not None:
            images = read_photos(val, files, TEXTURE_SIZE, root / "cache")
            if images.broken:
                broken = val / next(iter(images.broken))
                raise UserError(f"'{broken}' cannot be read, and textures need every image: unpack it again")
            edge = (images.pixels.shape[1] - TEXTURE_SIZE) // 2
            centre = images.pixels[:, edge:, edge:][:, :TEXTURE_SIZE, :TEXTURE_SIZE]
            write_textures(clusters / COMPUTED, files.names, compute_textures(np.asarray(centre), self.texture_weights))
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
