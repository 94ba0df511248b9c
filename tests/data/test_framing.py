"""A dataset says how its files are framed, and its models frame other files alike."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pytest
from PIL import Image

from data.synset_trees import plant
from data.test_celeba import write_lists
from data.test_fairface import rows_of, table
from data.test_utkface import many
from fairflac.config.run_config import RunConfig, TrainConfig, resolve
from fairflac.data import DATASETS
from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.pixels.cache import read_images
from fairflac.data.pixels.decode import Framing, decode
from fairflac.data.sets.imagenet_a import FOLDER as IMAGENET_A
from fairflac.errors import UserError
from fairflac.inference.model import ModelMetadata
from fairflac.inference.open import open_model
from fairflac.inference.predict import answers
from fairflac.runs.directory import Run, Workspace
from fairflac.training.pipeline import train_config
from fairflac.types import TaskSpec

SIZE = 14


def noise(path: Path, seed: int = 0) -> None:
    """Neither square nor of a size that anything asks for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (37, 29, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, "PNG")


def fairface(root: Path) -> None:
    for part in ("train", "val"):
        table(root / "fairface" / f"fairface_label_{part}.csv", rows_of(part))
        for row in rows_of(part):
            noise(root / "fairface" / "margin025" / row[0])


def celeba(root: Path) -> None:
    for name in write_lists(root / "celeba"):
        noise(root / "celeba" / "img_align_celeba" / name)


def utkface(root: Path) -> None:
    for name in many():
        noise(root / "utkface" / "images" / name)


def folder(root: Path) -> None:
    for number in range(20):
        noise(root / "own" / "ab"[number % 2] / f"{number}.png", number)


def listed(root: Path) -> None:
    folder(root)
    lines = [f"{path.relative_to(root / 'own')},{path.parent.name}" for path in (root / "own").rglob("*.png")]
    (root / "own" / "list.csv").write_text("\n".join(["path,label", *sorted(lines)]) + "\n")


PLANTED: dict[str, Callable[[Path], object]] = {
    "utkface": utkface,
    "celeba": celeba,
    "fairface": fairface,
    "imagenet9": lambda root: plant(root / "imagenet" / "train", 4),
    "imagenet-a": lambda root: plant(root / IMAGENET_A, 2, suffix=".jpg"),
    "folder": folder,
    "csv": listed,
}
ARRAYS = ("biased-mnist", "biased-digits", "corrupted-cifar10")  # which have no files of images


def test_every_dataset_is_here() -> None:
    assert {*PLANTED, *ARRAYS} == set(DATASETS)
    assert all(DATASETS[name].framing == Framing() for name in ARRAYS)


@pytest.mark.parametrize("name", PLANTED)
def test_loading_and_predicting_frame_alike(name: str, tmp_path: Path) -> None:
    PLANTED[name](tmp_path)
    places = {"folder": tmp_path / "own", "csv": tmp_path / "own" / "list.csv"}
    options = {"size": SIZE, **({"path": str(places[name])} if name in places else {})}
    dataset = DATASETS[name](0, **options)  # type: ignore[call-arg]
    data = dataset.load(tmp_path, "test" if name == "imagenet-a" else "train")
    assert data is not None and len(data)
    run = Run(tmp_path / "run")
    settings = {**options, "net": "simple-conv"}
    config = RunConfig(dataset=name, method="vanilla", net="simple-conv", seed=0, data_options=options)
    run.begin((config if name == "imagenet-a" else resolve(name, "vanilla", 0, settings)).to_toml(), {})
    metadata = ModelMetadata.of(run, data.task)
    assert metadata.decoded_size == data.images.shape[1:3]
    for row in range(0, len(data), max(1, len(data) // 5)):
        (file,) = (path for path in tmp_path.rglob("*.*") if path.as_posix().endswith(f"/{data.names[row]}"))
        np.testing.assert_array_equal(decode(file.read_bytes(), metadata.decoded_size, metadata.fit), data.images[row])


class Plugin(Dataset):
    """Somebody's own, with a framing that no dataset here has."""

    name: ClassVar[str] = "plug-in"
    attributes: ClassVar[tuple[str, ...] | None] = ()
    read_with = Framing(margin=1.5, fit="squash")

    def __init__(self, seed: int = 0, *, path: Path) -> None:
        self.seed, self.path = seed, Path(path)

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        pass

    @classmethod
    def check(cls, root: Path) -> list[str]:
        return []

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        if split == "validation":
            return None
        names = sorted(path.relative_to(self.path).as_posix() for path in self.path.rglob("*.png"))
        framing = self.read_with
        images = read_images(self.path, names, framing.stored((8, 8)), root / "cache", fit=framing.fit, silent=True)
        y = np.array([name[0] == "b" for name in names]).astype(np.int64)
        task = TaskSpec(("a", "b"), {}, (8, 8), (0.5,) * 3, (0.25,) * 3)
        return BiasedDataset(images.pixels, y, {}, np.array(names), split, task)


@final
class Said(Plugin):
    framing = Plugin.read_with


def trained_on(kind: type[Dataset], root: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setitem(DATASETS, kind.name, kind)
    folder(root)
    small = TrainConfig(epochs=1, batch_size=10, precision="32-true")
    options = {"kernel_size": 3, "channels": [2, 2, 4, 4]}
    config = RunConfig(
        dataset=kind.name, method="vanilla", net="simple-conv", seed=0, train=small, net_options=options,
        data_options={"path": str(root / "own")},
    )  # fmt: skip
    run = train_config(config, Workspace(root / "runs", root, silent=True))
    assert run is not None
    return run


def test_a_dataset_of_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained_on(Said, tmp_path, monkeypatch)
    model = open_model(str(run.path))
    assert (model.decoded_size, model.fit) == ((12, 12), "squash")
    found = answers(model, sorted((tmp_path / "own").rglob("*.png")))
    np.testing.assert_allclose([one.guesses[0].probability for one in found], run.predictions.score, atol=1e-5)


def test_one_that_does_not_say_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"plug-in keeps images of \(12, 12\), and its framing says \(8, 8\)"):
        trained_on(Plugin, tmp_path, monkeypatch)
