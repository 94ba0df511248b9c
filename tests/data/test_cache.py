import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fairflac.data.pixels import cache as module
from fairflac.data.pixels import files
from fairflac.data.pixels.cache import Images, read_images
from fairflac.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    for i in range(5):
        Image.new("RGB", (6, 6), (40 * i, 0, 0)).save(tmp_path / "images" / f"{i}.png")
    return tmp_path / "images"


def read(folder: Path, names: list[str] | None = None, **options: bool) -> Images:
    names = [f"{i}.png" for i in range(5)] if names is None else names
    return read_images(folder, names, (6, 6), folder.parent / "cache", silent=True, **options)


def test_images_come_in_order(folder: Path) -> None:
    images = read(folder)
    assert images.pixels[:, 0, 0, 0].tolist() == [0, 40, 80, 120, 160]
    assert isinstance(images.pixels, np.memmap)
    images.pixels[0] = 7  # of this process only
    assert read(folder).pixels[0].max() == 0
    assert images.kept.tolist() == [0, 1, 2, 3, 4] and len(set(images.digests.tolist())) == 5


def test_nothing_is_decoded_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read(folder)

    def never(*_: object) -> np.ndarray:
        raise AssertionError("decoded again")

    monkeypatch.setattr(files, "decode", never)
    np.testing.assert_array_equal(read(folder).pixels, first.pixels)


def test_a_changed_file_makes_a_new_cache(folder: Path) -> None:
    read(folder)
    Image.new("RGB", (6, 6), (200, 0, 0)).save(folder / "2.png")
    assert read(folder).pixels[2, 0, 0, 0] == 200


def test_broken_images_are_left_out_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "1.png").write_text("not an image")
    (folder / "3.png").unlink()
    names = [f"{i}.png" for i in range(5)]
    images = read_images(folder, names, (6, 6), folder.parent / "cache")
    assert images.kept.tolist() == [0, 2, 4]
    assert images.pixels[:, 0, 0, 0].tolist() == [0, 80, 160] and len(images.digests) == 3
    told = capsys.readouterr().err
    assert "2 of 5 files" in told and "'1.png'" in told and "'3.png'" in told
    with pytest.raises(UserError, match=r"'1\.png'.*leave out strict"):
        read(folder, strict=True)
    assert read(folder).kept.tolist() == [0, 2, 4]  # from the cache now


def test_names_with_anything_in_them(folder: Path) -> None:
    names = ["a b.png", 'it\'s "quoted".png', "ünï 字.png", "<script>alert(1)</script>.png".replace("/", "_")]
    for name in names:
        Image.new("RGB", (6, 6)).save(folder / name)
    assert len(read(folder, names).pixels) == 4


def test_two_readers_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    build = module._build
    monkeypatch.setattr(module, "_build", lambda *a: (built.append(1), build(*a)))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: read(folder), range(4)))
    assert len(built) == 1
    assert all(np.array_equal(result.pixels, results[0].pixels) for result in results)


def test_an_interrupted_build_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> np.ndarray:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "decode", stopped)
    with pytest.raises(KeyboardInterrupt):
        read(folder)
    monkeypatch.undo()
    assert not [path for path in (folder.parent / "cache").iterdir() if path.suffix != ".lock"]
    assert len(read(folder).pixels) == 5


def test_copies_have_the_same_digest(folder: Path) -> None:
    (folder / "1.png").write_bytes((folder / "0.png").read_bytes())
    digests = read(folder).digests.tolist()
    assert digests[0] == digests[1] and len(set(digests)) == 4


ROWS = st.lists(st.sampled_from(["0.png", "1.png", "2.png", "broken.png", "missing.png", "gone.png"]), max_size=9)


@given(lists=st.lists(ROWS, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pixels_belong_to_their_names(folder: Path, lists: list[list[str]]) -> None:
    """Whatever is missing, broken or repeated, in any order, and whichever lists were read before."""
    (folder / "broken.png").write_text("not an image")
    for names in lists:
        images = read(folder, names)
        assert [names[i] for i in images.kept] == [name for name in names if name[0].isdigit()]
        assert np.asarray(images.pixels)[:, 0, 0, 0].tolist() == [40 * int(names[i][0]) for i in images.kept]
        assert len(images.digests) == len(images.kept)
        assert images.broken.keys() == {name for name in names if not name[0].isdigit()}


@pytest.mark.parametrize("how", ["rows", "pixels", "text"])
def test_a_cache_that_does_not_fit_is_made_again(folder: Path, how: str) -> None:
    read(folder)
    (stored,) = (folder.parent / "cache").glob("*.npy")
    index = stored.with_suffix(".json")
    if how == "rows":
        index.write_text(index.read_text().replace('"digests": [', '"digests": ["00",'))
    elif how == "pixels":
        np.save(stored, np.zeros((4, 6, 6, 3), np.uint8))
    else:
        index.write_text("{")
    assert read(folder).pixels[:, 0, 0, 0].tolist() == [0, 40, 80, 120, 160]


def test_each_file_is_decoded_once_however_often_it_is_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    real = files.decode
    monkeypatch.setattr(files, "decode", lambda *given: (decoded.append(1), real(*given))[1])
    images = read(folder, ["0.png", "1.png"] * 500)
    assert len(decoded) == 2 and np.asarray(images.pixels)[:, 0, 0, 0].tolist() == [0, 40] * 500


def test_what_is_no_file_does_not_stop_the_reading(folder: Path) -> None:
    os.mkfifo(folder / "pipe.png")
    (folder / "folder.png").mkdir()
    assert read(folder, ["pipe.png", "0.png", "folder.png"]).broken == {
        "pipe.png": "not a file",
        "folder.png": "a folder, not a file",
    }
