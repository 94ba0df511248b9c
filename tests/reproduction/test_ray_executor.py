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


@pytest.mark.timeout(1800)  # on a busy machine every worker takes minutes to import torch
# With a shared folder less can go wrong, and a minute of Ray shows it only where asked for.
@pytest.mark.parametrize("shared", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_node_that_is_killed_loses_nothing(cluster: Any, tmp_path: Path, gate: Path, shared: bool):
    """Two runs on two nodes wait after their first epoch; that of the killed node goes on elsewhere from there."""
    node = cluster.add_node(**NODE)
    workspace, seen = Workspace(tmp_path, tmp_path), dict[str, list[dict[str, Any]]]()
    runs = [config("gated", seed, epochs=3) for seed in (0, 1)]

    def kill(job: Job) -> None:
        seen.setdefault(job.key, workspace.run(job.config).history)
        if len(seen) == 2 and not gate.exists():
            cluster.remove_node(node, allow_graceful=False)
            gate.touch()

    executor = RayExecutor(cluster.address, cpus=1, gpus=0, retries=2, shared=shared)
    assert executor.run(jobs_for(runs), workspace, Recorder(kill)) == {}
    assert node not in cluster.worker_nodes
    for made in runs:
        run = workspace.run(made)
        assert run.done and len(run.history) == 3 and run.result["test"] and not run.in_use
        assert run.history[:1] == seen[made.folder]  # seconds and all: it went on


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
