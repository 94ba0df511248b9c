"""One run on behalf of an executor: every way in which it can end is an answer."""

import json
import subprocess
import sys
from pathlib import Path

from fairflac.reproduction.local_executor import task_line
from fairflac.reproduction.scheduler import JobResult, log_of, run_job
from fairflac.runs.directory import Workspace
from small_runs import config


def test_done_and_silent(tmp_path: Path, capfd):
    workspace = Workspace(tmp_path, tmp_path)
    assert run_job(config(), workspace) == JobResult("done")
    assert workspace.run(config()).done and not log_of(workspace.run(config())).exists()
    assert capfd.readouterr() == ("", "")


def test_a_mistake_of_the_user_is_the_reason(tmp_path: Path):
    unselectable = config(selection="accuracy", validation=0.0)
    result = run_job(unselectable, Workspace(tmp_path, tmp_path))
    assert result.status == "failed" and "needs validation data" in result.reason


def test_a_crash_is_one_line_and_the_rest_is_in_the_log(tmp_path: Path):
    workspace, crashing = Workspace(tmp_path, tmp_path), config().model_copy(update={"net_options": {"depth": 3}})
    result = run_job(crashing, workspace)
    log = log_of(workspace.run(crashing))
    assert result.status == "lost" and "TypeError" in result.reason and str(log) in result.reason
    assert "Traceback" in log.read_text() and "\n" not in result.reason


def test_a_full_or_forbidden_disk_is_told_in_words(tmp_path: Path):
    (tmp_path / "runs").write_text("a file where a folder should be")
    result = run_job(config(), Workspace(tmp_path / "runs", tmp_path))
    assert result.status == "lost" and "a file stands where a folder is needed" in result.reason


def test_in_use(tmp_path: Path):
    workspace = Workspace(tmp_path, tmp_path)
    with workspace.run(config()).locked():
        assert run_job(config(), workspace).status == "in use"


def test_a_process_whose_input_ends_stops(tmp_path: Path):
    """It is told nothing but its task, and standard input ends there."""
    workspace = Workspace(tmp_path, tmp_path)
    task = task_line(config(epochs=400), workspace)
    ended = subprocess.run(
        [sys.executable, "-m", "fairflac.reproduction.local_executor"], input=task, text=True, capture_output=True
    )
    answered = json.loads(ended.stdout)["status"] if ended.stdout else None
    assert (ended.returncode, answered) in [(-15, None), (0, "stopped")]
    assert not workspace.run(config(epochs=400)).done
