"""Files of a run that were damaged: one line that names the file, or the right arrays, and nothing else."""

import random
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairflac.errors import UserError
from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery, Samples
from fairflac.system import files
from fairflac.system.files import read_array
from program import Program, refused

LOADERS: dict[str, Callable[[Path], Any]] = {
    "samples.npz": Samples.load,
    "gallery.npz": Gallery.load,
    "predictions.npz": Predictions.load,
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_damaged_file_is_one_line(folder_run: Run, tmp_path: Path, name: str) -> None:
    whole = (folder_run.path / name).read_bytes()
    path = tmp_path / name
    rng = random.Random(0)
    told = []
    for trial in range(150):
        damaged = bytearray(whole)
        if trial % 3 == 0:
            damaged = damaged[: rng.randrange(len(whole))]
        for _ in range(trial % 3):
            # The directory of a zip file is at its end, and headers are where zlib and numpy begin to read.
            damaged[rng.choice([rng.randrange(len(whole)), rng.randrange(300), -rng.randrange(1, 500)])] ^= 0xFF
        path.write_bytes(damaged)
        try:
            LOADERS[name](path)
        except UserError as error:
            told.append(str(error))
    assert len(told) > 100 and all(f"'{path}' is damaged: " in line for line in told)


@pytest.mark.parametrize("name", LOADERS)
def test_columns_that_do_not_go_together(folder_run: Run, tmp_path: Path, name: str) -> None:
    with np.load(folder_run.path / name) as stored:
        columns = dict(stored)
    first = next(iter(columns))
    np.savez(tmp_path / name, **{**columns, first: columns[first][:-1]})
    with pytest.raises(UserError, match="is damaged"):
        LOADERS[name](tmp_path / name)


@pytest.mark.parametrize(
    ("name", "column", "change"),
    [
        ("gallery.npz", "index", lambda old: old.astype(str)),
        ("gallery.npz", "index", lambda old: old - 1000),
        ("gallery.npz", "images", lambda old: old[..., None]),
        ("gallery.npz", "names", lambda old: np.zeros(len(old))),
        ("samples.npz", "y", lambda old: old + 0.5),
        ("samples.npz", "images", lambda old: old.astype(float)),
    ],
)
def test_columns_of_another_kind(
    folder_run: Run, tmp_path: Path, name: str, column: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    with np.load(folder_run.path / name) as stored:
        columns = dict(stored)
    np.savez(tmp_path / name, **{**columns, column: change(columns[column])})
    with pytest.raises(UserError, match="is damaged"):
        LOADERS[name](tmp_path / name)


def test_pictures_of_images_that_were_not_tested(folder_run: Run) -> None:
    with pytest.raises(UserError, match="is damaged"):
        Gallery.load(folder_run.gallery, tested=1)


def test_one_array(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(7))
    assert read_array(path).tolist() == list(range(7))
    whole, rng = path.read_bytes(), random.Random(0)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged[: rng.randrange(100, len(whole) + 1)])
        with suppress(ValueError):
            read_array(path)


@pytest.mark.parametrize("name", LOADERS)
def test_a_report_names_the_file(program: Program, folder_run: Run, tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder_run.path, run)
    (run / name).write_bytes((run / name).read_bytes()[:200])
    refused(program("report", run, "-o", tmp_path / "report.html"), f"{run / name}' is damaged: ")
    assert not (tmp_path / "report.html").exists()


def test_who_waits_for_another_process_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, held, told = tmp_path / "lock", threading.Event(), threading.Event()
    said: list[str] = []
    monkeypatch.setattr(files, "WAITS", 0.05)
    monkeypatch.setattr(files, "tell_once", lambda text: said.append(text) or told.set())

    def hold() -> None:
        with files.one_at_a_time(lock):
            held.set()
            told.wait(20)

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    with files.one_at_a_time(lock):
        assert len(said) == 1 and f"'{lock}'" in said[0]
    other.join()
