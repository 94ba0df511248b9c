"""Images in tar files as WebDataset writes them: listed, read in place, and their mistakes."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from fairflac.data.own import own_images
from fairflac.data.own.listing import Listing
from fairflac.data.pixels.cache import read_images
from fairflac.data.pixels.decode import Unreadable
from fairflac.data.pixels.live import LiveImages
from fairflac.data.pixels.rows import image_row
from fairflac.data.pixels.tars import TarMember, tar_bytes
from fairflac.errors import UserError
from planted_bars import draw_folder
from program import Program, refused

COUNT = 20


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_folder(tmp_path_factory.mktemp("bars") / "bars", COUNT // 2, aligned=0.8)


def write(path: Path, members: dict[str, bytes], kind: int = tarfile.PAX_FORMAT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=kind) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def samples(photos: Path, label: str, long: str = "") -> list[dict[str, bytes]]:
    """Of each image what a tar file has of it, with the label in a file of this kind."""
    found = []
    for number, file in enumerate(sorted(photos.rglob("*.png"))):
        key, name = f"./{long}{number:04}", file.parent.name
        beside = {
            "cls": {"cls": name.encode() + b"\n", "txt": f"caption {number}".encode()},
            "txt": {"txt": name.encode()},
            "json": {"json": json.dumps({"label": name, "ground": number % 2, "id": number, "box": [1]}).encode()},
        }[label]
        found.append({f"{key}.png": file.read_bytes()} | {f"{key}.{ending}": it for ending, it in beside.items()})
    return found


def listed(path: Path) -> Listing:
    return own_images(path).listing()


@pytest.mark.parametrize("label", ["cls", "txt", "json"])
@pytest.mark.parametrize("live", [False, True])
def test_shards_have_the_images_of_the_folder(photos: Path, tmp_path: Path, label: str, live: bool) -> None:
    every = samples(photos, label, long="sub.folder/" + "x" * 150 + "é/")  # too long for a plain header
    for number, kind in enumerate((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)):
        some = {name: content for sample in every[number::2] for name, content in sample.items()}
        write(tmp_path / "shards" / f"{number:03}.tar", some, kind)
    found = listed(tmp_path / "shards")
    assert found.attributes.keys() == ({"ground"} if label == "json" else set()) and found.splits is None
    files = sorted(photos.rglob("*.png"))
    wanted = [files[place] for place in (*range(0, COUNT, 2), *range(1, COUNT, 2))]
    assert list(found.labels) == [file.parent.name for file in wanted]
    want = read_images(photos, [str(file.relative_to(photos)) for file in wanted], (9, 9), tmp_path, silent=True)
    have = read_images(found.folder, found.names, (9, 9), tmp_path, silent=True, live=live)
    assert isinstance(have.pixels, LiveImages) == live and np.array_equal(want.digests, have.digests)
    backwards = np.arange(COUNT)[::-1]
    np.testing.assert_array_equal(np.asarray(have.pixels[backwards]), want.pixels[backwards])


def test_one_file_and_splits_in_names(program: Program, photos: Path, tmp_path: Path) -> None:
    every = samples(photos, "cls")
    for name, part in (("train", every[::2]), ("test", every[1::2])):
        write(tmp_path / "web" / f"{name}-000.tar", {k: v for one in part for k, v in one.items()})
    assert listed(tmp_path / "web").splits == ["test"] * 10 + ["train"] * 10
    one = tmp_path / "web" / "train-000.tar"
    assert len(listed(one).names) == 10 and listed(one).names[0] == "train-000.tar#0000.png:512"
    done = program("data", "check", one)
    assert done.code == 0 and "train: " in done.out


def test_names_lead_back() -> None:
    for name in ("a/b.tar#c/d.jpg:1024", "b.TAR#x#y:7.jpg:512"):
        found = image_row(name)
        assert isinstance(found, TarMember) and str(found) == name
    assert image_row("a.tar") is None and image_row("a.tar#b.jpg") is None


def test_a_member_that_cannot_be_read_is_left_out(photos: Path, tmp_path: Path) -> None:
    every = samples(photos, "cls")
    every[3]["./0003.png"] = b"no image"
    path = write(tmp_path / "a.tar", {name: content for sample in every for name, content in sample.items()})
    found = listed(path)
    path.write_bytes(path.read_bytes()[:-12000])  # and the last ones are gone
    told: list[str] = []
    images = read_images(tmp_path, found.names, (9, 9), tmp_path / "cache", warn=told.append)
    assert "a.tar#0003.png" in told[0] and len(images.kept) < COUNT - 1
    assert {*images.broken.values()} <= {
        "not an image, or of an unknown kind", "the tar file ends before it", "empty header", "truncated header",
    }  # fmt: skip


def test_a_size_below_nothing_is_unreadable(tmp_path: Path) -> None:
    """Or all of the file would be read for it."""
    path = write(tmp_path / "a.tar", {"a.png": b"content"})
    header = bytearray(path.read_bytes())
    header[124:136] = b"\xff" * 12  # -1, as large sizes are written
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    path.write_bytes(header)
    with pytest.raises(Unreadable, match="ends before it"):
        tar_bytes(TarMember(str(path), "a.png", 512))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"a.png": b"", "a.jpg": b""}, "two images of the key 'a'"),
        ({"a.png": b"", "a.json": b"{"}, "'a.json' in .* is not valid JSON"),
        ({"a.png": b"", "a.json": b"[]"}, "is no JSON object"),
        ({"a.png": b"", "a.json": b"[" * 100_000}, "'a.json' in .* is not valid JSON"),
        ({"a.png": b"", "a.cls": bytes(2_000_000)}, "has 2,000,000 bytes, which is no label"),
        ({"a.png": b"", "a.cls": b"\xff"}, "'a.cls' in .* is not in UTF-8"),
        ({"a.png": b"", "b.png": b"", "b.cls": b"1"}, "'a' in .* has nothing in column 'label'"),
        ({"a.png": b""}, "no column 'label'"),
        ({"a.cls": b"1"}, "lists no images"),
    ],
)
def test_a_mistake_is_one_line(members: dict[str, bytes], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        listed(write(tmp_path / "a.tar", members))


def test_what_is_no_tar(program: Program, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"no tar at all")
    refused(program("data", "check", tmp_path / "a.tar"), "cannot be read as tar")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "a.tar.gz").write_bytes(b"")
    refused(program("data", "check", tmp_path / "packed"), "is compressed")
