"""One run on behalf of an executor: every way in which it can end is an answer."""

import json
import subprocess
import sys
from pathlib import Path

from fairflac.reproduction.worker import Outcome, log_of, make, task_line
from fairflac.runs.directory import Workspace
from small_runs import config


def test_done_and_silent(tmp_path: Path, capfd):
    workspace = Workspace(tmp_path, tmp_path)
    assert make(config(), workspace) == Outcome("done")
    assert workspace.run(config()).done and not log_of(workspace.run(config())).exists()
    assert capfd.readouterr() == ("", "")


def test_a_mistake_of_the_user_is_the_reason(tmp_path: Path):
    unselectable = config(selection="accuracy", validation=0.0)
    outcome = make(unselectable, Workspace(tmp_path, tmp_path))
    assert outcome.end == "failed" and "needs validation data" in outcome.reason


def test_a_crash_is_one_line_and_the_rest_is_in_the_log(tmp_path: Path):
    workspace, crashing = Workspace(tmp_path, tmp_path), config().model_copy(update={"net_options": {"depth": 3}})
    outcome = make(crashing, workspace)
    log = log_of(workspace.run(crashing))
    assert outcome.end == "lost" and "TypeError" in outcome.reason and str(log) in outcome.reason
    assert "Traceback" in log.read_text() and "\n" not in outcome.reason


def test_a_full_or_forbidden_disk_is_told_in_words(tmp_path: Path):
    (tmp_path / "runs").write_text("a file where a folder should be")
    outcome = make(config(), Workspace(tmp_path / "runs", tmp_path))
    assert outcome.end == "lost" and "a file stands where a folder is needed" in outcome.reason


def test_in_use(tmp_path: Path):
    workspace = Workspace(tmp_path, tmp_path)
    with workspace.run(config()).locked():
        assert make(config(), workspace).end == "in use"


def test_a_process_whose_leash_is_cut_stops(tmp_path: Path):
    """It is told nothing but its task, and standard input ends there."""
    workspace = Workspace(tmp_path, tmp_path)
    task = task_line(config(epochs=400), workspace)
    ended = subprocess.run(
        [sys.executable, "-m", "fairflac.reproduction.worker"], input=task, text=True, capture_output=True
    )
    answered = json.loads(ended.stdout)["end"] if ended.stdout else None
    assert (ended.returncode, answered) in [(-15, None), (0, "stopped")]
    assert not workspace.run(config(epochs=400)).done
