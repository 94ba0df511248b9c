"""Arrays that are computed into files: what a kill leaves, and that nothing is mixed up."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fairflac.system import array_files
from fairflac.system.array_files import computed_arrays

ROWS, STEP = 50, 4
VALUES = np.random.default_rng(0).random((ROWS, 3)).astype(np.float32)
COUNTS = np.arange(ROWS, dtype=np.int64)


class Killed(BaseException):
    pass


def compute(folder: Path, key: str = "a", *, die_at: int = ROWS + 1, values: np.ndarray = VALUES) -> list[np.ndarray]:
    begun = []

    def parts(start: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        begun.append(start)
        for at in range(start, ROWS, STEP):
            if at >= die_at:
                raise Killed
            yield values[at : at + STEP], COUNTS[at : at + STEP]

    found = computed_arrays((folder / "values.npy", folder / "counts.npy"), ROWS, key, parts)
    return [np.array(begun), *found]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "SHARD", 2 * STEP)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_goes_on_where_a_kill_left_it_with_the_same_bytes(tmp_path: Path) -> None:
    (whole := tmp_path / "whole").mkdir()
    (killed := tmp_path / "killed").mkdir()
    _, values, counts = compute(whole)
    assert np.array_equal(values, VALUES) and np.array_equal(counts, COUNTS)
    assert isinstance(values, np.memmap) and np.array_equal(np.load(whole / "values.npy"), VALUES)
    for die_at in (0, 12, 20, 28):
        with pytest.raises(Killed):
            compute(killed, die_at=die_at)
    with (killed / "values.npy.part").open("ab") as stream:  # what had not reached the disk
        stream.write(b"half a row")
    begun, *_ = compute(killed)
    assert begun.tolist() == [24]  # three shards of eight
    assert files(killed) == files(whole) and files(whole).keys() == {"values.npy", "counts.npy"}


def test_what_was_begun_for_something_else_is_begun_anew(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        compute(tmp_path, "a", die_at=30)
    begun, values, _ = compute(tmp_path, "b", values=VALUES + 1)
    assert begun.tolist() == [0] and np.array_equal(values, VALUES + 1)


@pytest.mark.parametrize("left", [None, b"", b"no header", 200])
@pytest.mark.parametrize("name", ["values.npy.part", "values.npy.progress"])
def test_a_part_that_is_damaged_is_computed_again(tmp_path: Path, name: str, left: bytes | int | None) -> None:
    with pytest.raises(Killed):
        compute(tmp_path, die_at=30)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    if left is not None:
        (tmp_path / name).write_bytes(left if isinstance(left, bytes) else content[: left if "part" in name else 5])
    begun, values, _ = compute(tmp_path)
    assert begun.tolist() == [0] and np.array_equal(values, VALUES)
