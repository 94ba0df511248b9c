"""`fairflac reproduce` on a real Ray cluster of three nodes, of which everything is killed, one after the other."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tiny_tables
from fairflac.errors import UserError
from fairflac.reproduction import ray_executor
from fairflac.runs.directory import Run, find_runs, share_trained
from small_runs import wait_until

EPOCHS = 30
NODE = {"num_cpus": 1, "include_log_monitor": False}
HEAD = {**NODE, "node_ip_address": "127.0.0.5", "include_dashboard": False, "no_monitor": True}


@contextmanager
def three_nodes() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=HEAD)
    try:
        for address in ("127.0.0.6", "127.0.0.7"):
            cluster.add_node(**NODE, node_ip_address=address)
        yield cluster
    finally:
        cluster.shutdown()


def command(root: Path, *more: str) -> list[str]:
    places = ["--runs", str(root / "runs"), "--data", str(root), "-o", str(root / "results")]
    asked = ["reproduce", "table2", "--only", "vanilla", "--q", "0.99,0.995,0.999"]
    return [sys.executable, tiny_tables.__file__, str(EPOCHS), *asked, *places, *more]


@contextmanager
def started(root: Path, address: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    words = command(root, "--executor", "ray", "--address", address, *more)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def at_work(runs: Path) -> dict[Run, int]:
    """Runs that have new epochs, and the processes that make them."""
    found = {}
    for config in runs.rglob("config.toml"):
        run = Run(config.parent)
        if (holder := run.holder) and 0 < share_trained(run, EPOCHS) < 1:
            found[run] = holder.pid
    return found


def wait_for_work(runs: Path, process: subprocess.Popen[str], other_than: set[int] = frozenset()) -> int:  # type: ignore[assignment]
    wait_until(lambda: process.poll() is not None or bool(set(at_work(runs).values()) - other_than))
    assert process.poll() is None, process.communicate()[0]
    return next(iter(set(at_work(runs).values()) - other_than))


def results(root: Path) -> dict[str, bytes]:
    """What must not differ: predictions of every run, and the numbers of the table."""
    found = {str(run.path.relative_to(root)): (run.path / "predictions.npz").read_bytes() for run in find_runs(root)}
    table = json.loads((root / "results" / "table2-cpu.json").read_text())
    return {**found, "table": json.dumps(table["cells"]).encode()}


def said_by_a_driver_without_head(root: Path, cluster: Any, *more: str) -> str:
    with started(root, cluster.address, *more) as process:
        wait_for_work(root / "runs", process)
        address = cluster.address
        cluster.remove_node(cluster.head_node, allow_graceful=False)
        said = process.communicate()[0]
    assert process.returncode == 2, said
    assert said.splitlines()[-1].startswith(f"fairflac: the head of the Ray cluster, '{address}', is gone: ")
    return said


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_worker_driver_and_head_are_killed_and_the_table_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without a shared folder; without, also who keeps the runs is killed: the holder of their locks."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # Ray's own would starve them on a busy machine
    monkeypatch.setenv("RAY_TMPDIR", tempfile.gettempdir())
    monkeypatch.setenv("TMPDIR", str(tmp_path / "away"))  # where runs are made that are not in a shared folder
    (tmp_path / "away").mkdir()
    quiet = tmp_path / "quiet"
    subprocess.run(command(quiet), check=True, capture_output=True)
    for shared in (True, False):
        more = [] if shared else ["--no-shared-folder"]
        root = tmp_path / f"knocked-{shared}"
        runs, made_in = root / "runs", root / "runs" if shared else tmp_path / "away"
        with three_nodes() as cluster:
            with started(root, cluster.address, *more) as process:
                killed = wait_for_work(made_in, process)
                os.kill(killed, signal.SIGKILL)
                wait_for_work(made_in, process, {killed})
                if not shared:
                    keeper = wait_for_work(runs, process)
                    os.kill(keeper, signal.SIGKILL)
                    wait_for_work(runs, process, {keeper})
                process.kill()  # the driver
            wait_until(lambda made_in=made_in: not at_work(made_in))  # its workers end with it
            assert "Traceback" not in said_by_a_driver_without_head(root, cluster, *more)
        with three_nodes() as cluster, started(root, cluster.address, *more) as process:
            said = process.communicate()[0]
            assert process.returncode == 0, said
        assert results(root) == results(quiet)


def test_a_head_that_is_gone_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short sister: a head is whoever answers at its address."""
    monkeypatch.setattr(ray_executor, "HEAD_SECONDS", 0.0)
    monkeypatch.setattr(ray_executor, "LOOK_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        head = ray_executor._Head(f"127.0.0.1:{server.getsockname()[1]}")
        head.check()
    with pytest.raises(UserError, match=r"head of the Ray cluster, '127\.0\.0\.1:\d+', is gone: .* the same command"):
        head.check()
