"""Runs made by a real Ray cluster of two nodes on this machine, one of which is killed."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from fairflac.errors import Stopped, UserError
from fairflac.reproduction.plan import Job, jobs_for
from fairflac.reproduction.ray_executor import RayExecutor
from fairflac.runs.directory import Workspace
from fairflac.system import invocation
from small_runs import MANY, Recorder, config

# Ray leaves files and processes to the system when it shuts down, and says nothing about it but this.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

WITHOUT = 'Ray is not installed: pip install "fairflac[ray]"'
# Two loopback addresses for two machines; 127.0.0.1 will not do, as Ray takes it for the address of the network card.
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.3", "include_log_monitor": False}
HEAD = {**NODE, "node_ip_address": "127.0.0.2", "include_dashboard": False, "no_monitor": True}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray", reason=WITHOUT)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=HEAD)
    yield cluster
    cluster.shutdown()


# With a shared folder less can go wrong, and a minute of Ray shows it only where asked for.
@pytest.mark.parametrize("shared", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_node_that_is_killed_loses_nothing(cluster: Any, tmp_path: Path, shared: bool):
    """Two runs on two nodes; the one of the killed node goes on elsewhere from its last checkpoint."""
    node = cluster.add_node(**NODE)
    workspace, seen = Workspace(tmp_path, tmp_path), dict[str, list[dict[str, Any]]]()
    epochs = 20  # enough for both to be at work when one node is killed
    runs = [config(seed=seed, epochs=epochs) for seed in (0, 1)]

    def kill(job: Job) -> None:
        seen.setdefault(job.key, workspace.run(job.config).history)
        if len(seen) == 2 and node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)

    listener = Recorder(kill)
    failed = RayExecutor(cluster.address, cpus=1, gpus=0, retries=2, shared=shared).run(
        jobs_for(runs), workspace, listener
    )
    assert failed == {} and node not in cluster.worker_nodes
    for made in runs:
        run = workspace.run(made)
        assert run.done and len(run.history) == epochs and run.result["test"] and not run.in_use
        before = seen[made.folder]
        assert 0 < len(before) < epochs
        assert (
            run.history[0] == before[0]
        )  # seconds and all: it went on. Short epochs after the first have no checkpoint
        assert [_untimed(entry) for entry in run.history[: len(before)]] == [_untimed(entry) for entry in before]


def _untimed(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "seconds"}


def test_without_a_shared_folder_bias_models_travel(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    workspace, made = Workspace(tmp_path, tmp_path), config("flac")
    broken = config("flac-b", **{"bias_model.selection": "accuracy", "bias_model.validation": 0.0})
    executor = RayExecutor(cluster.address, cpus=1, gpus=0, retries=0, shared=False)
    monkeypatch.setattr(invocation, "_words", ("reproduce", "table2"))
    failed = executor.run(jobs_for([made, broken]), workspace, Recorder())
    assert workspace.run(made).env["command"] == "fairflac reproduce table2"
    assert workspace.run(made).done and workspace.run(made.stage_one()).done
    assert set(failed) == {broken.folder, broken.stage_one().folder}
    assert "needs validation data" in failed[broken.folder]


def test_asked_to_stop(cluster: Any, tmp_path: Path):
    workspace, made = Workspace(tmp_path, tmp_path), config(epochs=MANY)
    listener = Recorder(lambda job: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Stopped, match="1 of 1 runs are left"):
        RayExecutor(cluster.address, cpus=1, gpus=0, retries=0, shared=True).run(jobs_for([made]), workspace, listener)
    run = workspace.run(made)
    assert not run.done and not run.in_use
    assert torch.load(run.last, weights_only=True)["state"]["step"] >= 1  # saved when it was asked, inside an epoch


def test_a_run_that_fits_nowhere(cluster: Any, tmp_path: Path):
    executor = RayExecutor(cluster.address, cpus=1, gpus=4, retries=0, shared=True)
    with pytest.raises(UserError, match="no machine of the Ray cluster has 1 CPUs and 4 GPUs"):
        executor.run([], Workspace(tmp_path, tmp_path), Recorder())


def test_an_address_where_nobody_answers(tmp_path: Path):
    pytest.importorskip("ray", reason=WITHOUT)
    with pytest.raises(UserError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        RayExecutor("127.0.0.1:1", 1, 0, 1, True).run([], Workspace(tmp_path, tmp_path), Recorder())


def test_without_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r'pip install "fairflac\[ray\]"'):
        RayExecutor(None, 1, 0, 1, True).run([], Workspace(tmp_path, tmp_path), Recorder())
