"""Taking over what a user has: folders, archives, and what can be wrong with them."""

import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from fairflac.data import sources as by_hand
from fairflac.data.sources import UNFINISHED, ManualSource
from fairflac.errors import UserError

MANUAL = ManualSource(
    name="toys",
    steps=("Ask for them", "Wait"),
    layout=("boxes/*.toy",),
    size="2 MB",
    target_path=lambda path: f"boxes/{path.name}" if path.suffix == ".toy" else None,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "have"
    (folder / "deep").mkdir(parents=True)
    for name, content in {"a.toy": "bear", "deep/b.toy": "ball", "deep/._b.toy": "junk", "notes.txt": "x"}.items():
        (folder / name).write_text(content)
    return folder


def packed(folder: Path, kind: str) -> Path:
    if kind == "folder":
        return folder
    path = folder.parent / f"have.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("deep/", "")
            archive.writestr("deep/b.toy", "ball")
            archive.writestr("../../a.toy", "bear")
    else:
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as tar:
            tar.add(folder / "a.toy", arcname="../../a.toy")
            tar.add(folder / "deep", arcname="have/deep")
    return path


@pytest.mark.parametrize("kind", ["folder", "tar", "tar.gz", "zip"])
def test_what_is_wanted_is_put_in_place_and_nothing_else(kind: str, folder: Path, tmp_path: Path) -> None:
    said: list[str] = []
    MANUAL.get(tmp_path / "root", packed(folder, kind), said.append)
    files = {p.relative_to(tmp_path / "root").as_posix(): p for p in (tmp_path / "root").rglob("*") if p.is_file()}
    assert {name: path.read_text() for name, path in files.items()} == {
        "toys/boxes/a.toy": "bear",
        "toys/boxes/b.toy": "ball",
    }
    assert len(said) == 1 and said[0].startswith("toys: 2 files from")
    assert MANUAL.folder(tmp_path / "root") == tmp_path / "root" / "toys"


def test_without_files_the_page_says_steps_layout_and_size(tmp_path: Path) -> None:
    said: list[str] = []
    MANUAL.get(tmp_path, None, said.append)
    assert said == [
        "toys cannot be fetched for you. What to do:",
        "  1. Ask for them",
        "  2. Wait",
        "  3. fairflac data get toys --from FOLDER (or the .tar or .zip that you have)",
        f"Then there is, in {tmp_path}/toys:",
        "  boxes/*.toy",
        "Size: 2 MB",
    ]
    (tmp_path / "toys").mkdir()
    said.clear()
    MANUAL.get(tmp_path, None, said.append)
    assert said[0] == f"{tmp_path}/toys is there; 'fairflac data check toys' says whether it is whole."


def test_files_that_are_there_keep_their_time(folder: Path, tmp_path: Path) -> None:
    times = []
    for _ in range(2):
        MANUAL.get(tmp_path, folder, lambda line: None)
        times.append({path: path.stat().st_mtime_ns for path in (tmp_path / "toys/boxes").iterdir()})
    assert times[0] == times[1]
    (tmp_path / "toys/boxes/a.toy").write_text("torn")
    MANUAL.get(tmp_path, folder, lambda line: None)
    assert (tmp_path / "toys/boxes/a.toy").read_text() == "bear"


def test_a_part_is_not_taken_for_the_whole(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(path: Path, content: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(by_hand, "_write", stop)
        with pytest.raises(KeyboardInterrupt):
            MANUAL.get(tmp_path, folder, lambda line: None)
    assert (tmp_path / "toys" / UNFINISHED).exists()
    with pytest.raises(UserError, match="is not complete: run 'fairflac data get toys --from"):
        MANUAL.folder(tmp_path)
    MANUAL.get(tmp_path, folder, lambda line: None)
    assert MANUAL.folder(tmp_path).is_dir()


def test_a_dataset_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"toys is not in '.*': 'fairflac data get toys' says how to obtain it"):
        MANUAL.folder(tmp_path)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda path: None, "there is no '.*x': give the folder or the archive"),
        (lambda path: path.write_text("hello"), "is no folder, tar or zip"),
        (lambda path: path.mkdir(), r"has no file of toys: expected boxes/\*\.toy"),
    ],
)
def test_wrong_archives_are_named(make: object, complaint: str, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path / "x")
    with pytest.raises(UserError, match=complaint):
        MANUAL.get(tmp_path / "root", tmp_path / "x", lambda line: None)
    assert not (tmp_path / "root").exists()


def test_a_torn_archive_is_named(folder: Path, tmp_path: Path) -> None:
    whole = packed(folder, "tar.gz").read_bytes()
    (tmp_path / "torn.tar.gz").write_bytes(whole[: len(whole) - 40])
    with pytest.raises(UserError, match=r"torn\.tar\.gz' is damaged .*: fetch it again"):
        MANUAL.get(tmp_path / "root", tmp_path / "torn.tar.gz", lambda line: None)


def test_the_name_of_the_archive_is_part_of_the_path(folder: Path, tmp_path: Path) -> None:
    seen: list[PurePosixPath] = []
    spy = ManualSource("toys", (), (), "", target_path=lambda path: seen.append(path) or path.name)  # type: ignore[func-returns-value]
    spy.get(tmp_path, packed(folder, "zip"), lambda line: None)
    assert {path.parts[0] for path in seen} == {"have.zip"}
