"""One run on behalf of an executor: every way in which it can end is an answer."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from fairflac.reproduction.local_executor import task_line
from fairflac.reproduction.plan import Job, jobs_for
from fairflac.reproduction.scheduler import JobResult, log_of, run_job, run_jobs
from fairflac.runs.directory import Workspace
from small_runs import Recorder, config


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


@dataclass
class SmallMachine:
    """Workers that are killed as long as there are more of them than memory for them; else they are done at once."""

    capacity: int
    memory: int
    at_work: set[str] = field(default_factory=set)
    started: int = 0

    def start(self, job: Job, workspace: Workspace) -> "SmallWorker":
        self.at_work.add(job.key)
        self.started += 1
        return SmallWorker(self, job, workspace)


@dataclass
class SmallWorker:
    machine: SmallMachine
    job: Job
    workspace: Workspace

    def at_work(self) -> bool:
        return False

    def result(self) -> JobResult:
        killed = len(self.machine.at_work) > self.machine.memory
        self.machine.at_work.remove(self.job.key)
        if not killed:
            done = self.workspace.run(self.job.config).path / "done"
            done.parent.mkdir(parents=True)
            done.touch()
        return JobResult("killed" if killed else "done", "its process was killed" if killed else "")

    def stop(self) -> None: ...


def test_where_memory_runs_out_fewer_run_at_a_time_and_none_is_lost(tmp_path: Path):
    machine, listener = SmallMachine(capacity=6, memory=2), Recorder()
    jobs = jobs_for(config(seed=seed) for seed in range(9))
    assert run_jobs(jobs, Workspace(tmp_path, tmp_path), listener, machine, retries=0) == {}
    said = [text for kind, text in listener.told if kind == "said"]
    assert "no more than 2 at a time" in said[-1] and machine.started == 9 + len(said)


def test_a_run_that_has_the_machine_to_itself_is_killed_once_more_than_retries(tmp_path: Path):
    machine = SmallMachine(capacity=2, memory=0)
    jobs = jobs_for(config(seed=seed) for seed in range(2))
    failed = run_jobs(jobs, Workspace(tmp_path, tmp_path), Recorder(), machine, retries=1)
    assert sorted(failed) == [job.key for job in jobs] and machine.started == 5
