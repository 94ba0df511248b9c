"""Which runs a folder has, and what is said of each."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairflac.runs.directory import SILENT_SECONDS, Run
from fairflac.serving.listing import Catalogue
from reporting.hand_made import table, write_run

EPOCHS = [{"epoch": n, "loss": 1 / n, "seconds": 2.0 * n, "validation": {"unbiased": n / 8}} for n in (1, 2, 3)]


def unfinished(root: Path, **owner: object) -> Run:
    run = write_run(root, "flac", table(1.0, 0.2), run_id="feed", history=EPOCHS)
    (run.path / "done").unlink()
    if owner:
        run.owner.write_text(json.dumps(owner))
    return run


def states(root: Path) -> dict[str, str]:
    return {line.method: line.state for line in Catalogue(root).lines()}


def test_a_finished_run_has_its_numbers_and_a_bias_model_is_no_result(tmp_path: Path) -> None:
    write_run(tmp_path, "vanilla", table(1.0, 0.25), seed=3)
    write_run(tmp_path, "gce", table(1.0, 0.2), target="hue")
    by_method = {line.method: line for line in Catalogue(tmp_path).lines()}
    line = by_method["vanilla"]
    assert (line.state, line.seed, line.comparable, line.data) == ("finished", 3, True, "toy, q = 0.9")
    assert line.numbers["conflicting"] == pytest.approx(0.25) and line.cells["aligned"] == "100.0 %"
    assert (line.place, line.short) == ("toy/vanilla/0123456789-s3", "0123456789-s3")
    assert by_method["gce"].role == "bias model (hue)" and not by_method["gce"].comparable


def test_runs_of_one_method_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    for run_id, alpha in (("aa", 10.0), ("bb", 300.0)):
        for seed in (0, 1):
            options = {"alpha": alpha, "delta": 1.0}
            write_run(tmp_path, "flac", table(1.0, 0.5), seed=seed, run_id=run_id, method_options=options)
    write_run(tmp_path, "vanilla", table(1.0, 0.25))
    said = {line.run.path.name: line.settings for line in Catalogue(tmp_path).lines()}
    tens, hundreds = (
        dict.fromkeys(("aa-s0", "aa-s1"), "alpha = 10.0"),
        dict.fromkeys(("bb-s0", "bb-s1"), "alpha = 300.0"),
    )
    assert said == tens | hundreds | {"0123456789-s0": ""}


def test_who_trains_and_for_how_long(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        unfinished(tmp_path, pid=process.pid, host=socket.gethostname())
        (line,) = Catalogue(tmp_path).lines()
        assert (line.state, line.done, line.epochs, line.left) == ("running", 3, 7, "8 s")
        process.communicate(b"\n")
    (line,) = Catalogue(tmp_path).lines()
    assert (line.state, line.left) == ("stopped", "")


@pytest.mark.parametrize("owner", [{"pid": -1}, {"pid": 1 << 40}, {"pid": "x"}, {"pid": 0}, {}])
def test_an_owner_that_is_no_process_holds_nothing(tmp_path: Path, owner: dict[str, object]) -> None:
    unfinished(tmp_path, **owner, host=socket.gethostname())
    assert states(tmp_path) == {"flac": "stopped"}


def test_another_machine_is_believed_as_long_as_it_writes(tmp_path: Path) -> None:
    run = unfinished(tmp_path, pid=1, host="another.example")
    assert states(tmp_path) == {"flac": "running"}
    long_ago = time.time() - SILENT_SECONDS - 1
    for file in run.path.iterdir():
        os.utime(file, (long_ago, long_ago))
    assert states(tmp_path) == {"flac": "stopped"}


def test_a_lock_is_only_looked_at(tmp_path: Path) -> None:
    run = unfinished(tmp_path)
    with run.locked():
        assert states(tmp_path) == {"flac": "running"}
    before = {file: file.stat().st_mtime_ns for file in run.path.iterdir()}
    assert states(tmp_path) == {"flac": "stopped"}
    assert {file: file.stat().st_mtime_ns for file in run.path.iterdir()} == before


def test_what_cannot_be_read_is_named_and_the_others_stay(tmp_path: Path) -> None:
    write_run(tmp_path, "vanilla", table(1.0, 0.2))
    for name, file, text in (("a", "config.toml", "= 3"), ("b", "config.toml", "seed = 1"), ("c", "result.json", "{}")):
        run = write_run(tmp_path, name, table(1.0, 0.2))
        (run.path / file).write_text(text)
    lines = Catalogue(tmp_path).lines()
    assert sorted(line.state for line in lines) == ["damaged", "damaged", "damaged", "finished"]
    assert all(line.problem for line in lines if line.state == "damaged")


def test_runs_anywhere_below_but_not_behind_links_or_in_hidden_folders(tmp_path: Path) -> None:
    write_run(tmp_path / "here" / "photos-debiased" / "runs", "vanilla", table(1.0, 0.2))
    elsewhere = write_run(tmp_path / "elsewhere", "flac", table(1.0, 0.2))
    (tmp_path / "here" / "link").symlink_to(elsewhere.path)
    write_run(tmp_path / "here" / ".trash", "flac", table(1.0, 0.2))
    (line,) = Catalogue(tmp_path / "here").lines()
    assert line.method == "vanilla" and line.short == "photos-debiased/runs/0123456789-s0"
    (alone,) = Catalogue(elsewhere.path).lines()
    assert alone.place == elsewhere.path.name


def test_a_run_that_was_trained_anew_says_so(tmp_path: Path) -> None:
    write_run(tmp_path, "vanilla", table(1.0, 0.25))
    catalogue = Catalogue(tmp_path)
    assert catalogue.lines()[0].numbers["conflicting"] == pytest.approx(0.25)
    write_run(tmp_path, "vanilla", table(1.0, 0.75))
    assert catalogue.lines()[0].numbers["conflicting"] == pytest.approx(0.75)
