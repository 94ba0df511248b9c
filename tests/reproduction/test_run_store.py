"""Run directories that travel: made in a folder of a worker, and whole where they belong."""

import errno
import threading
from pathlib import Path

import pytest

from fairflac.errors import RunInUse
from fairflac.reproduction import ray_executor
from fairflac.reproduction.ray_executor import Changes, Files, RunStore, run_job_on_copy
from fairflac.reproduction.scheduler import run_job
from fairflac.runs.directory import Run, Workspace
from small_runs import config, wait_until


def test_a_run_and_its_bias_model(tmp_path: Path):
    """The bias model was made at home; away it is there, and not made again."""
    made, workspace, home = config("flac"), Workspace(tmp_path, tmp_path), RunStore(tmp_path)
    bias_model = made.stage_one()
    assert run_job(bias_model, workspace).status == "done"
    asked: list[tuple[object, ...]] = []

    def ask(*words: object):
        asked.append(words[:2])
        return getattr(home, str(words[0]))(*words[1:])

    assert run_job_on_copy(made, workspace, ask).status == "done"
    run = workspace.run(made)
    assert run.done and run.result["bias_model"] == workspace.run(bias_model).path.name and len(run.history) == 1
    assert not run.in_use and ("keep", bias_model.folder) not in asked
    left = {path.name for path in run.path.iterdir() if path.is_file()}
    assert left == {*Changes.since({}, run.path).files, "lock"}  # nothing half-written


def test_reasons_name_the_folder_at_home(tmp_path: Path):
    crashing = config().model_copy(update={"net_options": {"depth": 3}})
    home = RunStore(tmp_path)
    result = run_job_on_copy(
        crashing, Workspace(tmp_path, tmp_path), lambda method, *rest: getattr(home, method)(*rest)
    )
    log = tmp_path / crashing.folder / "worker.log"
    assert str(log) in result.reason and "TypeError" in log.read_text()


def test_in_use_at_home(tmp_path: Path):
    home, workspace = RunStore(tmp_path), Workspace(tmp_path, tmp_path)
    with workspace.run(config()).locked():
        result = run_job_on_copy(config(), workspace, lambda method, *rest: getattr(home, method)(*rest))
    assert result.status == "in use" and "in use by process" in result.reason


def test_only_what_is_new_and_the_marker_last(tmp_path: Path):
    for name in ("done", "last.pt", "best.pt", "result.json", "worker.log", "lock", "owner.json", ".last.pt.x"):
        (tmp_path / name).write_text("1")
    first = Changes.since({}, tmp_path)
    assert set(list(first.files)[:2]) == {"best.pt", "worker.log"} and not first.gone
    assert list(first.files)[2:] == ["last.pt", "result.json", "done"]
    (tmp_path / "last.pt").write_text("22")
    (tmp_path / "worker.log").unlink()
    second = Changes.since(first.stamps, tmp_path)
    assert second.files == {"last.pt": b"22"} and second.gone == ["worker.log"]
    assert Changes.since(second.stamps, tmp_path)[:2] == ({}, [])


def test_what_did_not_arrive_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The way home fails for a while, with files written before, meanwhile and after, and one taken away."""
    monkeypatch.setattr(ray_executor, "MIRROR_SECONDS", 0.01)
    home, away, down, tried = RunStore(tmp_path), tmp_path / "away", threading.Event(), list[Changes]()
    away.mkdir()

    def send(new: Changes) -> None:
        tried.append(new)
        if down.is_set():
            raise ConnectionError
        home.keep("run", new.files, new.gone)

    with ray_executor._mirrored(away, send):
        (away / "last.pt").write_text("1")
        (away / "worker.log").write_text("")
        wait_until(lambda: (tmp_path / "run" / "last.pt").exists())
        down.set()
        (away / "last.pt").write_text("22")
        (away / "worker.log").unlink()
        wait_until(lambda: sum("last.pt" in new.files for new in tried[-2:]) == 2 and tried[-1].gone != [])
        down.clear()
        wait_until(lambda: (tmp_path / "run" / "last.pt").read_text() == "22")
        down.set()
        (away / "done").write_text("")
        wait_until(lambda: list(tried[-1].files) == ["done"])
        down.clear()
    home.close("run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"last.pt", "done", "lock"}


def test_what_does_not_arrive_in_the_end_is_lost(tmp_path: Path):
    """As when the disk at home is full: a run that is done only where nobody finds it is not done."""
    home = RunStore(tmp_path)

    def call(method: str, *rest: object) -> Files:
        if method == "keep":
            raise OSError(errno.ENOSPC, "full")
        return getattr(home, method)(*rest)

    result = run_job_on_copy(config(), Workspace(tmp_path, tmp_path), call)
    assert result.status == "lost" and "did not arrive: cannot use: the disk is full" in result.reason
    assert not home.held


def test_a_store_that_stands_in_for_another_holds_the_run_again(tmp_path: Path):
    first, second, run = RunStore(tmp_path), RunStore(tmp_path), Run(tmp_path / "run")
    first.open("run")
    first.open("run")  # asked again, as its answer was lost
    with pytest.raises(RunInUse):
        second.keep("run", {}, [])
    first.close("run")
    second.keep("run", {"last.pt": b"1"}, ["not there"])
    assert run.in_use and run.last.read_bytes() == b"1"
    second.close("run")
    assert not run.in_use
