"""9-class ImageNet on a small tree: classes by id, textures by path, and what is said when something does not fit."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from data.synset_trees import plant
from fairflac.data.pixels.stored import MappedImages
from fairflac.data.sets import imagenet9
from fairflac.data.sets.imagenet9 import (
    ALL,
    CLASS_OF,
    CLASSES,
    COMPUTED,
    PUBLISHED,
    SYNSETS,
    TENSORS,
    TEXTURES,
    ImageNet9,
    compute_textures,
    list_synsets,
    write_textures,
)
from fairflac.errors import UserError

TRAIN, VAL = 6, 3  # images of each synset
SIZE = 14


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a user has it: all folders, some of no interest."""
    folder = tmp_path_factory.mktemp("ilsvrc")
    plant(folder / "train", TRAIN)
    plant(folder / "val", VAL)
    plant(folder / "train", 1, ("n01440764",))  # the first of ImageNet: it shifts every count of folders by one
    (folder / "val" / ALL[0] / "notes.txt").write_text("no image")
    return folder


@pytest.fixture
def root(planted: Path, tmp_path: Path) -> Path:
    ImageNet9.get(tmp_path, planted, lambda line: None)
    return tmp_path


def clusters(number: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 9, number) for name in TEXTURES}


def with_table(root: Path) -> dict[str, np.ndarray]:
    names = list_synsets(root / "imagenet" / "val").names
    found = clusters(len(names))
    write_textures(root / "imagenet" / "clusters" / PUBLISHED, names, found)
    return found


def test_the_table_is_the_published_one() -> None:
    assert [len(SYNSETS[name]) for name in CLASSES] == [5, 5, 3, 5, 5, 5, 5, 4, 5]
    assert len(set(ALL)) == 42 and list(ALL) == sorted(ALL)
    assert CLASSES == ("dog", "cat", "frog", "turtle", "bird", "monkey", "fish", "crab", "insect")


def test_classes_go_by_synset_id(root: Path) -> None:
    train = ImageNet9(size=SIZE, validation=0).load(root, "train")
    test = ImageNet9(size=SIZE).load(root, "test")
    assert train is not None and test is not None and (len(train), len(test)) == (42 * TRAIN, 42 * VAL)
    for data in (train, test):
        assert [CLASSES[y] for y in data.y] == [CLASS_OF[name[:9]] for name in data.names]
        assert data.names.tolist() == sorted(data.names)
        assert data.task.classes == CLASSES and data.task.image_size == (SIZE, SIZE)
        assert data.images.shape[1:] == (16, 16, 3) and not data.bias
    assert isinstance(train.images, MappedImages)


def test_validation_is_held_out_by_content(root: Path) -> None:
    for synset in ("n02085620", "n02099601"):  # a copy of a dog among the dogs
        image = root / "imagenet" / "train" / "n02085620" / "photo_000.JPEG"
        copied = root / "copies" / synset
        copied.mkdir(parents=True)
        (copied / "copy.JPEG").write_bytes(image.read_bytes())
    real = root / "imagenet" / "train" / "n02099601"
    for file in sorted(real.iterdir()):
        (root / "copies" / "n02099601" / file.name).write_bytes(file.read_bytes())
    real.unlink()
    (root / "copies" / "n02099601").rename(real)
    for seed in range(5):
        data = ImageNet9(seed, size=SIZE, validation=0.3)
        train, validation = data.load(root, "train"), data.load(root, "validation")
        assert train is not None and validation is not None
        assert len(train) + len(validation) == 42 * TRAIN + 1
        assert set(validation.y) == set(range(9)) and not set(train.names) & set(validation.names)
        copies = {"n02085620/photo_000.JPEG", "n02099601/copy.JPEG"}
        assert copies <= set(train.names) or copies <= set(validation.names)
    assert ImageNet9(size=SIZE, validation=0).load(root, "validation") is None


def test_textures_go_by_path(root: Path) -> None:
    found = with_table(root)
    table = root / "imagenet" / "clusters" / PUBLISHED
    header, *lines = table.read_text().splitlines()
    assert header == "path,category,cluster1,cluster2,cluster3"
    table.write_text("\n".join([header, *reversed(lines)]))  # the order of lines means nothing
    test = ImageNet9(size=SIZE).load(root, "test")
    assert test is not None and list(test.bias) == list(TEXTURES)
    for name in TEXTURES:
        assert np.array_equal(test.bias[name], found[name])
        attribute = test.task.attributes[name]
        assert attribute.min_cell == 10 and attribute.repeats == "texture" and attribute.values == tuple("012345678")
        for y in range(9):  # the value each class has most above its base rate, one value at a time
            gain = [np.mean(found[name][test.y == y] == v) - np.mean(found[name] == v) for v in range(9)]
            assert gain[attribute.aligned[y]] == pytest.approx(max(gain))
    train = ImageNet9(size=SIZE, validation=0).load(root, "train")
    assert train is not None and not train.bias and not train.task.attributes


def test_tensors_serve_where_there_is_no_table(root: Path) -> None:
    found = clusters(42 * VAL, seed=1)
    folder = root / "imagenet" / "clusters"
    folder.mkdir()
    for file, codes in zip(TENSORS, found.values(), strict=True):
        torch.save(torch.from_numpy(codes), folder / file)
    test = ImageNet9(size=SIZE).load(root, "test")
    assert test is not None and all(np.array_equal(test.bias[name], found[name]) for name in TEXTURES)
    with_table(root)  # and the table comes first, since it names its images
    again = ImageNet9(size=SIZE).load(root, "test")
    assert again is not None and not np.array_equal(again.bias["texture1"], found["texture1"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "missing beside"),
        (b"noise", "cannot be read"),
        (torch.zeros(7, dtype=torch.int64), f"7 entries, and 'val' has {42 * VAL}"),
        (torch.zeros(42 * VAL), "no list of whole numbers"),
        (torch.full((42 * VAL,), 9), "cluster 9"),
    ],
)
def test_tensors_that_do_not_fit(root: Path, content: object, message: str) -> None:
    folder = root / "imagenet" / "clusters"
    folder.mkdir()
    torch.save(torch.zeros(42 * VAL, dtype=torch.int64), folder / TENSORS[0])
    if isinstance(content, bytes):
        (folder / TENSORS[1]).write_bytes(content)
    elif content is not None:
        torch.save(content, folder / TENSORS[1])
    with pytest.raises(UserError, match=message) as caught:
        ImageNet9(size=SIZE).load(root, "test")
    assert TENSORS[1] in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("path,", "file,"), "is no table"),
        (lambda text: text.replace("photo_000.JPEG,frog,", "photo_000.JPEG,frog,x"), "whole numbers"),
        (lambda text: "\n".join(text.splitlines()[:-2]), "no line for '.*' and 1 more"),
        (lambda text: text + "n02219486/photo_999.JPEG,insect,1,2,3\n", "'val' lacks 'n02219486/photo_999.JPEG'"),
        (lambda text: text + text.splitlines()[-1], "twice"),
        (lambda text: text + "n02219486/photo_999.JPEG,insect\n", "is no table"),
        (lambda text: text.replace("frog,", "frog,1"), "cluster 1"),
    ],
)
def test_tables_that_do_not_fit(root: Path, change: object, message: str) -> None:
    assert callable(change)
    with_table(root)
    table = root / "imagenet" / "clusters" / PUBLISHED
    table.write_text(change(table.read_text()))
    with pytest.raises(UserError, match=message):
        ImageNet9(size=SIZE).load(root, "test")


def test_textures_are_computed_once_from_vgg_weights(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fake(images: np.ndarray, weights: Path) -> dict[str, np.ndarray]:
        seen.append((images.shape, weights))
        return clusters(len(images))

    assert imagenet9.compute_textures is compute_textures
    monkeypatch.setattr(imagenet9, "compute_textures", fake)
    monkeypatch.setattr(imagenet9, "TEXTURE_SIZE", 28)
    for _ in range(2):
        test = ImageNet9(size=SIZE, texture_weights=Path("vgg.pth")).load(root, "test")
        assert test is not None and np.array_equal(test.bias["texture2"], clusters(len(test))["texture2"])
    assert seen == [((42 * VAL, 28, 28, 3), Path("vgg.pth"))]
    assert (root / "imagenet" / "clusters" / COMPUTED).exists()


@pytest.mark.parametrize("part", ["train", "val"])
def test_missing_synsets_are_named(root: Path, part: str) -> None:
    for synset in ALL[3:8]:
        (root / "imagenet" / part / synset).unlink()
    with pytest.raises(UserError, match=f"5 of 42 synsets.*{ALL[3]}.*data get imagenet9"):
        ImageNet9(size=SIZE).load(root, "test" if part == "val" else "train")
    with pytest.raises(UserError, match=f"{part}' lacks"):
        ImageNet9.get(root / "other", root / "imagenet", lambda line: None)


def test_validation_images_that_nobody_sorted(tmp_path: Path) -> None:
    folder = tmp_path / "imagenet" / "val"
    folder.mkdir(parents=True)
    (folder / "ILSVRC2012_val_00000001.JPEG").write_bytes(b"")
    with pytest.raises(UserError, match="sort its images"):
        ImageNet9().load(tmp_path, "test")


def test_unreadable_images_are_left_out_with_their_texture(root: Path) -> None:
    found = with_table(root)
    link = root / "imagenet" / "val" / "n01641577"
    files = {file.name: file.read_bytes() for file in link.iterdir()}
    link.unlink()
    link.mkdir()
    for name, content in files.items():
        (link / name).write_bytes(b"noise" if name == "photo_001.JPEG" else content)
    test = ImageNet9(size=SIZE).load(root, "test")
    names = list_synsets(root / "imagenet" / "val").names
    kept = [name != "n01641577/photo_001.JPEG" for name in names]
    assert test is not None and len(test) == len(names) - 1
    assert np.array_equal(test.bias["texture3"], found["texture3"][kept])
    with pytest.raises(UserError, match="photo_001"):
        ImageNet9(size=SIZE, strict=True).load(root, "test")


def test_get_links_and_tells(planted: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    ImageNet9.get(tmp_path, None, lines.append)
    assert any("--from FOLDER" in line for line in lines) and not list(tmp_path.iterdir())
    for _ in range(2):
        ImageNet9.get(tmp_path, planted, lines.append)
    assert sorted(entry.name for entry in (tmp_path / "imagenet" / "train").iterdir()) == list(ALL)
    assert (tmp_path / "imagenet" / "val" / ALL[0]).resolve() == (planted / "val" / ALL[0]).resolve()
    with_table(tmp_path)
    ImageNet9.get(tmp_path / "second", tmp_path / "imagenet", lines.append)
    second = tmp_path / "second" / "imagenet"
    assert (second / "clusters" / PUBLISHED).is_file()
    assert (second / "val" / ALL[0]).resolve() == (planted / "val" / ALL[0]).resolve()


def test_check_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=rf"n01641577' has {TRAIN} images, not 732 to 1300"):
        ImageNet9.check(root)
    monkeypatch.setattr(imagenet9, "PER_SYNSET", {"train": (TRAIN, 9), "val": (VAL, VAL)})
    assert "no unbiased accuracy" in ImageNet9.check(root)[-1]
    found = with_table(root)
    lines = ImageNet9.check(root)
    assert f"train: {42 * TRAIN} images: dog {5 * TRAIN}, cat" in lines[0] and f"crab {4 * VAL}" in lines[1]
    test = ImageNet9(size=SIZE).load(root, "test")
    assert test is not None
    cells = np.unique(np.stack([test.y, found["texture1"]]), axis=1, return_counts=True)[1]
    assert lines[3].startswith(f"texture1: {np.sum(cells >= 10)} of 81 cells")
    monkeypatch.setattr(imagenet9, "PER_SYNSET", {"train": (TRAIN, 9), "val": (50, 50)})
    with pytest.raises(UserError, match=f"has {VAL} images, not 50"):
        ImageNet9.check(root)


def test_check_names_a_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("train", "val"):
        plant(tmp_path / "imagenet" / part, 1)
    monkeypatch.setattr(imagenet9, "PER_SYNSET", {"train": (1, 1), "val": (1, 1)})
    ImageNet9.check(tmp_path)
    (tmp_path / "imagenet" / "val" / "n01978287" / "photo_000.JPEG").write_bytes(b"")
    with pytest.raises(UserError, match=r"n01978287/photo_000\.JPEG' is not an image"):
        ImageNet9.check(tmp_path)


def test_the_centre_is_what_is_kept(tmp_path: Path) -> None:
    """The largest centred square, as resizing the shorter side and cropping gives it."""
    plant(tmp_path / "imagenet" / "val", 1)
    wide = np.zeros((16, 32, 3), dtype=np.uint8)
    wide[:, 8:24] = 200
    Image.fromarray(wide).save(tmp_path / "imagenet" / "val" / ALL[0] / "photo_000.JPEG", "PNG")
    test = ImageNet9(size=SIZE).load(tmp_path, "test")
    assert test is not None and test.images.shape[1:3] == (16, 16) and test.images[0].min() == 200


def test_docstring_has_the_fixed_headings() -> None:
    for heading in ("Input:", "Class:", "Bias:", "Splits:", "Source:", "Licence:", "Deviations:"):
        assert heading in (ImageNet9.__doc__ or "")
