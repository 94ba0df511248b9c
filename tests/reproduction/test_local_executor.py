"""Runs made by real processes, some of which are killed."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest
import torch

from fairflac.config.run_config import RunConfig
from fairflac.reproduction.local_executor import LocalExecutor, default_workers
from fairflac.reproduction.plan import Job, jobs_for
from fairflac.runs.directory import Workspace
from fairflac.training.pipeline import train_config
from small_runs import MANY, Recorder, config, driver, has_epochs, wait_until

LONG = config(epochs=MANY)


def broken_bias_model(seed: int) -> RunConfig:
    return config("flac", seed, **{"bias_model.selection": "accuracy", "bias_model.validation": 0.0})


def test_a_grid(tmp_path: Path):
    """Bias models once and first, done runs skipped, a failure told to those that need it and no others."""
    workspace = Workspace(tmp_path, tmp_path)
    made_before = config(seed=7)
    train_config(made_before, Workspace(tmp_path, tmp_path, silent=True))
    good = [config("flac", seed) for seed in (0, 1)]
    jobs = jobs_for([broken_bias_model(0), broken_bias_model(1), made_before, *good])
    listener = Recorder()
    failed = LocalExecutor(2).run(jobs, workspace, listener)

    [bias_model] = {job.needs for job in jobs if job.config in good}
    assert all(workspace.run(made).done for made in good)
    for made in good:
        assert listener.told.index(("finished", bias_model)) < listener.told.index(("started", made.folder))
        assert listener.shares[made.folder][-1] == 1
    assert listener.told.count(("started", bias_model)) == 1
    assert ("started", made_before.folder) not in listener.told and ("finished", made_before.folder) in listener.told

    [source] = {broken_bias_model(seed).stage_one().folder for seed in (0, 1)}
    assert set(failed) == {source, broken_bias_model(0).folder, broken_bias_model(1).folder}
    assert "needs validation data" in failed[source]
    assert failed[broken_bias_model(0).folder] == f"its bias model failed: {failed[source]}"
    assert ("started", broken_bias_model(0).folder) not in listener.told
    assert sorted(key for word, key in listener.told if word != "started") == sorted(job.key for job in jobs)


def test_a_driver_that_is_stopped_and_then_killed(tmp_path: Path):
    """Nothing is lost either way, and no worker trains on for nobody."""
    run = Workspace(tmp_path, tmp_path).run(LONG)
    with driver(tmp_path) as process:
        wait_until(lambda: has_epochs(run))
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert not run.in_use and not run.done
    saved = torch.load(run.last, weights_only=True)["state"]
    assert saved["step"] >= 1  # saved when it was asked, inside an epoch

    before = run.history
    with driver(tmp_path) as process:
        wait_until(lambda: has_epochs(run, len(before) + 1))
        process.kill()
    assert run.history[: len(before)] == before  # seconds and all: it went on
    wait_until(lambda: not run.in_use)


def test_a_worker_that_is_killed_goes_on_but_only_once(tmp_path: Path, gate: Path):
    workspace, victim = Workspace(tmp_path, tmp_path), config("gated", epochs=3)
    seen: list[dict[str, object]] = []

    def kill(job: Job) -> None:
        run = workspace.run(job.config)
        if job.config == LONG or not seen:
            pid = json.loads(run.owner.read_text())["pid"]
            likely = Path(f"/proc/{pid}/oom_score_adj")  # Linux: who is killed when memory runs out
            assert not likely.exists() or int(likely.read_text()) > int(Path("/proc/self/oom_score_adj").read_text())
            os.kill(pid, signal.SIGKILL)
        if job.config == victim and not seen:
            seen.extend(run.history)
            gate.touch()

    listener = Recorder(kill)
    failed = LocalExecutor(2).run(jobs_for([victim, LONG]), workspace, listener)
    run = workspace.run(victim)
    assert ["no more than 1 at a time" in text for kind, text in listener.told if kind == "said"] == [True]
    assert run.done and len(run.history) == 3 and run.history[:1] == seen  # seconds and all: it went on
    assert list(failed) == [LONG.folder] and "was killed by SIGKILL" in failed[LONG.folder]


def test_a_run_that_another_process_makes_is_waited_for(tmp_path: Path):
    workspace, listener = Workspace(tmp_path, tmp_path), Recorder()
    made, other = config(), config(seed=1)
    with workspace.run(made).locked():
        executor = threading.Thread(target=LocalExecutor(1).run, args=(jobs_for([made, other]), workspace, listener))
        executor.start()
        wait_until(lambda: ("finished", other.folder) in listener.told)
        assert ("started", made.folder) in listener.told and not workspace.run(made).done
    executor.join()
    assert workspace.run(made).done and listener.told[-1] == ("finished", made.folder)


def test_workers_fill_the_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr("fairflac.reproduction.local_executor.best_device", lambda: "cpu")
    assert [default_workers(threads) for threads in (1, 2, 3, 16)] == [8, 4, 2, 1]
    monkeypatch.setattr("fairflac.reproduction.local_executor.best_device", lambda: "cuda")
    assert default_workers(1) == 1
