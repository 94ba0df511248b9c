import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from fairflac.errors import RunInUse, UserError, describe_os_error
from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run, Workspace, find_runs, finished_runs
from fairflac.system.files import replacing, write_text
from fairflac.training.pipeline import import_run


def table() -> Predictions:
    n = np.arange(4)
    return Predictions(n, n % 2, n // 2, n / 4, np.ones((4, 3)), {"tone": n % 2}, {"tone": n < 2})


def test_a_finished_run_is_found_and_read(tmp_path: Path) -> None:
    run = Run(tmp_path / "set" / "method" / "id-s0")
    assert not run.done and find_runs(tmp_path) == []
    run.begin('dataset = "set"\n', {"cpu": "one"})
    run.write_history([{"epoch": 1}, {"epoch": 2}])
    run.finish({"seconds": 1.5}, table())
    found = find_runs(tmp_path)[0]
    assert found.done and found.config == {"dataset": "set"} and found.env == {"cpu": "one"}
    assert found.result == {"seconds": 1.5} and [entry["epoch"] for entry in found.history] == [1, 2]
    for name in ("index", "y", "prediction", "score", "features"):
        assert np.array_equal(getattr(found.predictions, name), getattr(table(), name))
    assert np.array_equal(found.predictions.aligned["tone"], [True, True, False, False])


def test_a_run_that_is_forgotten_keeps_nothing_but_its_config(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.begin('dataset = "set"\n', {"cpu": "one"})
    run.finish({"seconds": 1.5}, table())
    for name in ("report.html", "gallery.npz", "samples.npz", "result-on-other.json", "best.pt", "model.onnx"):
        (run.path / name).touch()
    (run.path / "figures").mkdir()
    with run.locked():
        run.forget()
        assert {path.name for path in run.path.iterdir()} == {"config.toml", "lock", "owner.json"}
    assert not run.done and run.config == {"dataset": "set"}


def test_what_debias_left_is_the_run_that_it_kept(tmp_path: Path) -> None:
    run, left = Run(tmp_path / "left" / "runs" / "set" / "id-s0"), tmp_path / "left"
    run.begin('dataset = "set"\n', {})
    run.finish({"seconds": 1.5}, table())
    (left / "model.safetensors").touch()
    (left / "report.html").touch()
    with pytest.raises(UserError, match="is not a run directory"):
        Run.open(left)
    write_text(left / "choice.json", json.dumps({"run": "runs/set/id-s0"}))
    moved = left.rename(tmp_path / "moved")
    home = moved / "runs" / "set" / "id-s0"
    assert [Run.open(path).path for path in (moved, moved / "model.safetensors", home)] == [home] * 3
    assert [one.path for one in finished_runs([moved, moved / "model.safetensors"])] == [home]
    with pytest.raises(UserError, match="is a file: give the run directory"):
        Run.open(moved / "report.html")
    with pytest.raises(UserError, match="there is no"):
        Run.open(left)
    (home / "done").unlink()
    with pytest.raises(UserError, match="is not finished: start its training again"):
        Run.finished(moved)
    write_text(moved / "choice.json", "{")
    with pytest.raises(UserError, match="is not a run directory"):
        Run.open(moved)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run directory"):
        Run.open(tmp_path)
    with pytest.raises(UserError, match=r"no result\.json"):
        _ = Run(tmp_path).result
    with pytest.raises(UserError, match="has this run finished"):
        _ = Run(tmp_path).predictions
    table().save(tmp_path / "predictions.npz")
    whole = (tmp_path / "predictions.npz").read_bytes()
    (tmp_path / "predictions.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="damaged"):
        _ = Run(tmp_path).predictions


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("y", np.full(4, -1)),
        ("y", np.full(4, 10**9)),
        ("y", np.zeros(2, int)),
        ("prediction", np.array(list("abcd"))),
        ("score", np.zeros((4, 1))),
        ("features", np.zeros(4)),
        ("guess", np.full(4, 0.5)),
        ("guess_counts", np.full((2, 2), "a")),
        ("guess_counts", np.ones((1, 2))),
        ("guess_counts", np.full((2, 2), np.inf)),
        ("guess_counts", np.zeros((2, 2))),
        ("score", np.full(4, np.nan)),
        ("images", np.array(["a", "b"])),
        ("min_cell", {"tone": np.array(["a", "b"])}),
        ("bias", {"tone": np.zeros(4, int), "": np.zeros(4, int)}),
    ],
)
def test_predictions_that_metrics_could_not_count_are_damaged(tmp_path: Path, column: str, values: Any) -> None:
    whole = replace(table(), guess=np.zeros(4, int), guess_counts=np.ones((2, 2)))
    whole.save(tmp_path / "predictions.npz")
    assert Run(tmp_path).predictions.guess is not None
    replace(whole, **{column: values}).save(tmp_path / "predictions.npz")
    with pytest.raises(UserError, match="is damaged: delete 'done' beside it"):
        _ = Run(tmp_path).predictions


@pytest.mark.parametrize("content", [b"\xff\xfe{\0", b"[]", b"{", b"3"])
def test_damaged_text_is_one_line(tmp_path: Path, content: bytes) -> None:
    for name, part in {"config.toml": "config", "result.json": "result", "metrics.jsonl": "history"}.items():
        (tmp_path / name).write_bytes(content + b"\n[" * (name == "config.toml"))
        with pytest.raises(UserError, match=rf"{name}' is damaged"):
            getattr(Run(tmp_path), part)


@pytest.mark.parametrize(
    "content", [{"classes": True}, {"classes": [1]}, {"attributes": {"tone": 3}}, {"test": []}, {"seconds": "x"}]
)
def test_a_result_of_another_kind_is_damaged(tmp_path: Path, content: dict[str, object]) -> None:
    write_text(tmp_path / "result.json", json.dumps({"test": {}, "seconds": 1, **content}))
    with pytest.raises(UserError, match=r"result\.json' is damaged"):
        _ = Run(tmp_path).result


def test_a_lock_names_its_owner_and_ends_with_the_process(tmp_path: Path) -> None:
    script = f"""
import sys, time
from pathlib import Path
from fairflac.runs.directory import Run
with Run(Path({str(tmp_path)!r})).locked():
    print("locked", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "locked\n"
        assert Run(tmp_path).in_use
        with pytest.raises(RunInUse, match=f"process {other.pid}"), Run(tmp_path).locked():
            pass
        other.kill()
    assert not Run(tmp_path).in_use
    with Run(tmp_path).locked():  # a killed process leaves no lock behind
        assert json.loads((tmp_path / "owner.json").read_text())["pid"] != other.pid


def test_files_are_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_text(path, "old")

    def interrupted() -> None:
        with replacing(path) as stream:
            stream.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_said_with_the_file(tmp_path: Path) -> None:
    def full() -> None:
        with replacing(tmp_path / "last.pt") as stream, open("/dev/full", "wb", buffering=0) as disk:
            disk.write(b"x")
            stream.write(b"y")

    with pytest.raises(OSError, match="No space") as caught:
        full()
    assert describe_os_error(caught.value).startswith(f"cannot use '{tmp_path / 'last.pt'}': the disk is full")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_process_are_swept_up(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with replacing(tmp_path / "last.pt") as stream:
        name = Path(stream.name if isinstance(stream.name, str) else "").name
    leftover = tmp_path / ".last.pt.a1b2c3d4"  # the form of tempfile's names
    leftover.write_bytes(b"half")
    run.begin("", {})
    assert not leftover.exists() and (tmp_path / "last.pt").exists(), name


def test_where_nothing_can_be_locked_leftovers_are_swept_up_after_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)
    old, young = tmp_path / ".last.pt.a1b2c3d4", tmp_path / ".last.pt.e5f6a7b8"
    for leftover in (old, young):
        leftover.write_bytes(b"half")
    os.utime(old, (0, 0))
    write_text(tmp_path / "last.pt", "whole")
    assert not old.exists() and young.exists()


def test_leftovers_beside_any_file_are_swept_up_but_not_those_at_work(tmp_path: Path) -> None:
    left = tmp_path / ".file.a1b2c3d4"
    left.write_bytes(b"half")
    with replacing(tmp_path / "file") as first, replacing(tmp_path / "file") as second:
        assert not left.exists() and len(list(tmp_path.iterdir())) == 2
        first.write(b"first")
        second.write(b"second")
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_bytes() == b"first"


def test_a_name_is_synced_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it a failure of power may leave `done` and take away what was written before it."""
    done, fsync, replace = list[str](), os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda handle: (done.append(os.readlink(f"/proc/self/fd/{handle}")), fsync(handle))
    )
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("rename"), replace(old, new)))
    write_text(tmp_path / "file", "text")
    assert done[1:] == ["rename", str(tmp_path)] and ".file." in done[0]


def test_a_copy_that_broke_off_is_made_again(tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--set bias_model=RUN` copies a run; half of one was once taken for all of it."""
    workspace = Workspace(tmp_path, tmp_path)
    copyfileobj, copied = shutil.copyfileobj, list[object]()

    def breaks_off(source: IO[bytes], target: IO[bytes]) -> None:
        copied.append(source)
        if len(copied) > 4:
            raise KeyboardInterrupt
        copyfileobj(source, target)

    monkeypatch.setattr(shutil, "copyfileobj", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        import_run(tiny_run.path, workspace)
    monkeypatch.undo()
    home = next(tmp_path.rglob("lock"))
    assert not Run(home.parent).done
    import_run(tiny_run.path, workspace)
    for name in ("predictions.npz", "last.pt", "done"):
        assert (home.parent / name).read_bytes() == (tiny_run.path / name).read_bytes()
