"""Images that are decoded whenever they are needed look like the array of all of them."""

import threading
import tracemalloc
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fairflac.data.batches import ImageInputs
from fairflac.data.own.folder import Folder
from fairflac.data.pixels import live
from fairflac.data.pixels.augment import make_augmentation
from fairflac.data.pixels.cache import read_images
from fairflac.data.pixels.live import AHEAD, LiveImages, batches_of, read_ahead, stays_live
from fairflac.data.pixels.resample import centre_crop
from fairflac.data.pixels.stored import MappedImages, StoredImages, rows_of
from fairflac.errors import UserError
from fairflac.types import TaskSpec
from small_runs import wait_until

SIZE = (18, 18)
TASK = TaskSpec(("a", "b"), {}, (16, 16), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """JPEG files of many sizes, some large enough for draft mode, one of them broken and one that is a copy."""
    rng = np.random.default_rng(0)
    (tmp_path / "files").mkdir()
    for number in range(20):
        shape = (20 + 9 * number, 150 - 5 * number, 3)
        noise = Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8))
        noise.save(tmp_path / "files" / f"{number:02}.jpg")
    (tmp_path / "files" / "07.jpg").write_bytes(b"no image")
    (tmp_path / "files" / "09.jpg").write_bytes((tmp_path / "files" / "08.jpg").read_bytes())
    return tmp_path / "files"


def both(folder: Path) -> tuple[np.ndarray, LiveImages]:
    names = [f"{number:02}.jpg" for number in (*range(20), 3)]
    once, again = (
        read_images(folder, names, SIZE, folder.parent / f"cache-{way}", silent=True, live=way) for way in (False, True)
    )
    assert once.kept.tolist() == again.kept.tolist() and once.broken.keys() == again.broken.keys() == {"07.jpg"}
    assert np.array_equal(once.digests, again.digests)
    assert isinstance(once.pixels, MappedImages) and isinstance(again.pixels, LiveImages)
    return np.asarray(once.pixels), again.pixels


def stored(folder: Path, kind: str) -> tuple[np.ndarray, StoredImages]:
    """An array, and what stands in for it."""
    once, live = both(folder)
    np.save(folder.parent / "more.npy", np.concatenate([once[::-1], once]))
    mapped = rows_of(np.load(folder.parent / "more.npy", mmap_mode="c"), np.arange(len(once), 2 * len(once)))
    assert isinstance(mapped, MappedImages)
    return once, {"live": live, "mapped": mapped}[kind]


@pytest.mark.parametrize("kind", ["live", "mapped"])
def test_it_has_the_pixels_of_the_array(folder: Path, kind: str) -> None:
    once, again = stored(folder, kind)
    assert (again.shape, again.dtype, again.ndim, len(again)) == (once.shape, once.dtype, once.ndim, len(once))
    rows = np.array([4, 4, 0, 19])
    for key in (slice(3, 9), rows, [1, 2], np.arange(len(once)) % 2 == 0):
        np.testing.assert_array_equal(np.asarray(again[key]), once[key])
    np.testing.assert_array_equal(again[-1], once[-1])
    np.testing.assert_array_equal(np.stack(list(again)), once)
    np.testing.assert_array_equal(np.asarray(again[rows][1:3]), once[rows][1:3])
    cropped = centre_crop(centre_crop(again, (14, 12)), (6, 10))
    np.testing.assert_array_equal(np.asarray(cropped[rows]), centre_crop(centre_crop(once, (14, 12)), (6, 10))[rows])
    np.testing.assert_array_equal(cropped[3], centre_crop(centre_crop(once, (14, 12)), (6, 10))[3])


def test_rows_of_a_mapped_file_are_no_copy(tmp_path: Path) -> None:
    """Who takes rows of rows, as the splits of a set do, holds positions."""
    np.save(tmp_path / "images.npy", np.zeros((50, 96, 96, 3), np.uint8))
    mapped, positions = np.load(tmp_path / "images.npy", mmap_mode="c"), np.arange(50)
    tracemalloc.start()
    part = rows_of(rows_of(mapped, positions[10:]), positions[:30])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert part.shape == (30, 96, 96, 3) and most < mapped[0].nbytes
    assert isinstance(rows_of(np.zeros((4, 8, 8, 3), np.uint8), positions[:2]), np.ndarray)
    np.save(tmp_path / "features.npy", np.zeros((4, 3), np.float32))
    assert type(rows_of(np.load(tmp_path / "features.npy", mmap_mode="c"), positions[:2])) is np.ndarray


def test_an_index_is_kept_and_no_pixels(folder: Path) -> None:
    both(folder)
    kept = {path.suffix for path in (folder.parent / "cache-True").iterdir()}
    assert kept == {".json", ".lock"}
    names = [f"{number:02}.jpg" for number in range(20)]
    read_images(folder, names, SIZE, folder.parent / "cache-False", silent=True, live=True)
    once = read_images(folder, names, SIZE, folder.parent / "cache-True", silent=True)  # an index alone is no cache
    assert isinstance(once.pixels, np.ndarray) and len(once.pixels) == 19


@pytest.mark.parametrize("augment", ["none", "photo"])
@pytest.mark.parametrize("kind", ["live", "mapped"])
def test_batches_are_those_of_the_array(folder: Path, kind: str, augment: str) -> None:
    once, again = (
        ImageInputs(images, TASK, CPU, make_augmentation(augment, (16, 16), 1))  # type: ignore[arg-type]
        for images in stored(folder, kind)
    )
    batches = list(torch.randperm(20, generator=torch.Generator().manual_seed(0)).split(6))
    with closing(again.ahead(batches)) as ahead:
        for index in ahead:
            for mine, other in zip(again(index, 2, 5), once(index, 2, 5), strict=True):
                assert torch.equal(mine, other)
    assert torch.equal(again(batches[1])[0], once(batches[1])[0])  # one that nobody announced


def decoders() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("decode")]


def test_what_is_decoded_ahead_is_bounded_and_threads_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, again = both(folder)
    begun: list[int] = []
    begin = LiveImages.begin
    monkeypatch.setattr(LiveImages, "begin", lambda self, rows, pool: (begun.append(1), begin(self, rows, pool))[1])
    with closing(read_ahead(again, batches_of(20, 2))) as pixels:
        next(pixels)
        assert len(begun) == AHEAD + 1 and decoders()
        next(pixels)
        assert len(begun) == AHEAD + 2
    assert not decoders()  # whoever stops early leaves none
    assert sum(len(part) for part in read_ahead(again, batches_of(20, 3))) == 20 and not decoders()


def test_the_next_batches_are_decoded_while_one_is_at_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, again = both(folder)
    decoded: list[int] = []
    one = LiveImages._one
    monkeypatch.setattr(LiveImages, "_one", lambda self, row: (decoded.append(row), one(self, row))[1])
    with closing(read_ahead(again, batches_of(20, 5))) as pixels:
        next(pixels)
        wait_until(lambda: len(decoded) == 5 * (AHEAD + 1))  # though nobody asks for more
        assert sorted(decoded) == again.rows[: 5 * (AHEAD + 1)].tolist()


@pytest.mark.parametrize(("content", "said"), [(None, "can no longer be read (No such file"), (b"", "was changed")])
def test_a_file_that_is_lost_or_changed_is_one_line(folder: Path, content: bytes | None, said: str) -> None:
    _, again = both(folder)
    if content is None:
        (folder / "11.jpg").unlink()
    else:  # another image in its place: of nothing that is trained on is there any doubt
        (folder / "11.jpg").write_bytes((folder / "12.jpg").read_bytes())
    with pytest.raises(UserError, match="same command again") as caught:
        list(read_ahead(again, batches_of(20, 4)))
    assert said in str(caught.value) and "11.jpg" in str(caught.value) and not decoders()


def test_by_what_pixels_take(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, photos: Path) -> None:
    assert not stays_live(None, 500_000, (72, 72)) and stays_live(None, 1_281_167, (252, 252))
    assert stays_live("live", 1, (8, 8)) and not stays_live("once", 1_281_167, (252, 252))
    monkeypatch.setattr(live, "KEPT", 1)
    for decode, kind in ((None, LiveImages), ("once", MappedImages)):
        loaded = Folder(0, path=photos, size=16, decode=decode).load(tmp_path, "train")  # type: ignore[arg-type]
        assert loaded is not None and isinstance(loaded.images, kind)
