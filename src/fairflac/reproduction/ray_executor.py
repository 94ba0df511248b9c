"""Runs made by tasks of a Ray cluster, one task for each run. Ray decides where and when, by what a run asks for.

Ray's own retries are off: `run_jobs` replaces lost workers, as it does for every executor.
"""

import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fairflac.config import plugins
from fairflac.config.run_config import RunConfig
from fairflac.errors import RunInUse, UserError, describe_os_error
from fairflac.reproduction.plan import Job
from fairflac.reproduction.scheduler import JobListener, JobResult, run_job, run_jobs
from fairflac.runs.directory import Run, Workspace
from fairflac.system.files import replacing
from fairflac.system.invocation import remember, typed_words

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle


class RayExecutor:
    """Tasks on the cluster at `address`, or on one that is started on this machine and ends with the work.

    shared: all machines see the folder of runs at the same path; otherwise run directories travel to the workers and
    back. The data must lie at the same path everywhere.
    """

    def __init__(self, address: str | None, cpus: float, gpus: float, retries: int, shared: bool) -> None:
        self.address, self.cpus, self.gpus, self.retries, self.shared = address, cpus, gpus, retries, shared

    def run(self, jobs: Sequence[Job], workspace: Workspace, listener: JobListener) -> dict[str, str]:
        workspace = replace(workspace, runs=workspace.runs.resolve(), data=workspace.data.resolve())
        with _connected(self.address):
            self._check_resources()
            pool = _TaskPool(self, None if self.shared else _run_store(workspace))
            return run_jobs(jobs, workspace, listener, pool, retries=self.retries)

    def _check_resources(self) -> None:
        """A task that fits nowhere would wait for ever."""
        import ray

        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(has.get("CPU", 0) >= self.cpus and has.get("GPU", 0) >= self.gpus for has in machines):
            raise UserError(
                f"no machine of the Ray cluster has {self.cpus:g} CPUs and {self.gpus:g} GPUs for a run: "
                "ask for fewer cpus or gpus per run, or start more machines"
            )


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise UserError('the executor ray needs Ray: pip install "fairflac[ray]"') from None
    own = {"_node_ip_address": "127.0.0.1", "include_dashboard": False} if address is None else {}
    try:
        _check_reachable(address or "local")
        ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **own)
    except (OSError, RuntimeError, ValueError) as error:
        if address is None:
            raise
        raise UserError(f"no Ray cluster answers at '{address}': {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str, timeout: float = 10) -> None:
    """Ray itself would try for a quarter of an hour to reach a machine that is not there."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=timeout).close()


def _run_store(workspace: Workspace) -> "ActorHandle[RunStore]":
    """On the machine of the driver, whose folder of runs it keeps. If it is killed another takes its place, and hears
    again what the first did not answer."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    kind = ray.remote(num_cpus=0, scheduling_strategy=here, max_restarts=-1, max_task_retries=-1)(RunStore)
    store: ActorHandle[RunStore] = kind.remote(workspace.runs)
    return store


def _work(
    config: RunConfig,
    workspace: Workspace,
    store: "ActorHandle[RunStore] | None",
    sent: dict[str, str],
    command: tuple[str, ...] | None,
) -> JobResult:
    """The task; plug-in files are sent with it, and the command that was typed."""
    remember(command)
    try:
        plugins.load(sent=sent)
    except UserError as error:
        return JobResult("failed", str(error))
    if store is None:
        return run_job(config, workspace)
    import ray

    def call_store(method: str, *arguments: object) -> Files:
        answer: Files = ray.get(getattr(store, method).remote(*arguments))
        return answer

    return run_job_on_copy(config, workspace, call_store)


# How long the head may be out of reach: after 60 s Ray ends this process, in its own words.
HEAD_SECONDS, LOOK_SECONDS, ANSWER_SECONDS = 20.0, 5.0, 5.0


class _Head:
    """The machine that a cluster was started on, without which it starts nothing."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked = self.answered = time.monotonic()

    def check(self) -> None:
        """Asks now and then; an error once it has not answered for too long."""
        now = time.monotonic()
        if now - self.asked < LOOK_SECONDS:
            return
        self.asked = now
        try:
            _check_reachable(self.address, timeout=ANSWER_SECONDS)
            self.answered = now
        except OSError:
            if now - self.answered > HEAD_SECONDS:
                raise UserError(
                    f"the head of the Ray cluster, '{self.address}', is gone: start a cluster again, then give the "
                    "same command; finished runs are kept, others go on from their last checkpoint"
                ) from None


class _TaskPool:
    """Starts a task for every run that is ready; Ray lets them wait until a machine is free."""

    capacity = sys.maxsize

    def __init__(self, executor: RayExecutor, store: "ActorHandle[RunStore] | None") -> None:
        import ray

        self.store, self.head = store, _Head(ray.get_runtime_context().gcs_address)
        self.plugins = plugins.texts()
        self.task: Any = ray.remote(num_cpus=executor.cpus, num_gpus=executor.gpus, max_retries=0)(_work)

    def start(self, job: Job, workspace: Workspace) -> "_Task":
        answer = self.task.remote(job.config, workspace, self.store, self.plugins, typed_words())
        return _Task(answer, job, workspace, self)


class _Task:
    """A worker somewhere in the cluster."""

    def __init__(self, answer: "ObjectRef[JobResult]", job: Job, workspace: Workspace, pool: _TaskPool) -> None:
        self.answer, self.key, self.run = answer, job.key, workspace.run(job.config)
        self.store, self.head = pool.store, pool.head

    def at_work(self) -> bool:
        return self.run.owner.exists()

    def result(self) -> JobResult | None:
        import ray
        from ray.exceptions import RayError, TaskCancelledError

        self.head.check()
        if not ray.wait([self.answer], timeout=0)[0]:
            return None
        try:
            result: JobResult = ray.get(self.answer)
        except TaskCancelledError:
            return JobResult("stopped")
        except RayError as error:
            if self.store is not None:
                self.store.close.remote(self.key)  # which the worker could not do any more
            return JobResult("lost", f"its worker was lost: {type(error).__name__}")
        if result.status == "done" and not self._is_here():
            return JobResult(
                "failed", f"a worker finished it, but '{self.run.path}' is not here: do not share the folder"
            )
        return result

    def _is_here(self) -> bool:
        """Is the finished run here? Answered by a listing, which is fresh also over NFS."""
        return any(path.name == "done" for path in self.run.path.glob("*"))

    def stop(self) -> None:
        import ray

        ray.cancel(self.answer)  # reaches a worker as Ctrl-C would


MIRROR_SECONDS = 2.0  # between two looks for something new
# Written in this order after all others, and read in the opposite order before all others. So a copy is always a state
# in which the run could have been killed: a best model newer than the checkpoint does no harm, an older one would.
WRITTEN_LAST = ("last.pt", "metrics.jsonl", "predictions.npz", "result.json", "done")
OF_ONE_MACHINE = ("lock", "owner.json")

Files = dict[str, bytes]
Stamps = dict[str, tuple[int, int]]  # by file name, what changes with the content


class RunStore:
    """Gives and takes files of run directories. It holds the lock of a run as long as a worker makes it.

    Whatever is asked may be asked again.
    """

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.held: dict[str, ExitStack] = {}

    def open(self, key: str) -> Files:
        """What there is of a run that is going to be made."""
        self._hold(key)
        return self.read(key)

    def read(self, key: str) -> Files:
        return Changes.since({}, self.runs / key).files

    def keep(self, key: str, files: Files, gone: Sequence[str]) -> None:
        self._hold(key)  # it may stand in for one that was killed, and its locks with it
        for name in gone:
            (self.runs / key / name).unlink(missing_ok=True)
        write_files(self.runs / key, files)

    def close(self, key: str) -> None:
        if key in self.held:
            self.held.pop(key).close()

    def _hold(self, key: str) -> None:
        if key not in self.held:
            with ExitStack() as stack:
                stack.enter_context(Run(self.runs / key).locked())
                self.held[key] = stack.pop_all()


class CallStore(Protocol):
    """Calls a method of a RunStore that may be far away, and waits for its answer."""

    def __call__(self, method: str, *arguments: object) -> Files: ...


def run_job_on_copy(config: RunConfig, workspace: Workspace, call_store: CallStore) -> JobResult:
    """`run_job`, where the folder of runs cannot be reached."""
    with tempfile.TemporaryDirectory(prefix="fairflac-") as folder:
        away = replace(workspace, runs=Path(folder))
        try:
            write_files(away.run(config).path, call_store("open", config.folder))
            for stage_one in config.stages_one():
                write_files(away.run(stage_one).path, call_store("read", stage_one.folder))
            with _mirrored(away.run(config).path, lambda new: call_store("keep", config.folder, new.files, new.gone)):
                result = run_job(config, away)
        except RunInUse as error:
            return JobResult("in use", str(error))
        except OSError as error:
            return JobResult("lost", f"what it made did not arrive: {describe_os_error(error)}")
        finally:
            call_store("close", config.folder)
        return replace(result, reason=result.reason.replace(folder, str(workspace.runs)))


class Changes(NamedTuple):
    """What differs from a copy of a folder that has files with certain stamps."""

    files: Files  # in the order in which the copy may be written
    gone: list[str]
    stamps: Stamps  # of a copy that has got them

    @classmethod
    def since(cls, before: Stamps, folder: Path) -> "Changes":
        files, stamps = Files(), Stamps()
        for name in chain(reversed(WRITTEN_LAST), _early(folder)):
            with suppress(FileNotFoundError):
                status = (folder / name).stat()
                mark = (status.st_mtime_ns, status.st_size)
                if before.get(name) != mark:
                    files[name] = (folder / name).read_bytes()
                stamps[name] = mark
        # A listing may miss a file that is replaced at the same moment.
        gone = [name for name in before if name not in stamps and not (folder / name).exists()]
        return cls(dict(reversed(files.items())), gone, stamps)


@contextmanager
def _mirrored(folder: Path, send: Callable[[Changes], object]) -> Iterator[None]:
    """Send what is new in a folder, now and then and in the end. What was not confirmed is sent again; the last time it
    has to be."""
    ended, arrived = threading.Event(), Changes.since({}, folder).stamps

    def send_new() -> None:
        nonlocal arrived
        new = Changes.since(arrived, folder)
        if new.files or new.gone:
            send(new)
            arrived = new.stamps

    def now_and_then() -> None:
        while not ended.wait(MIRROR_SECONDS):
            with suppress(Exception):  # whatever it is, it may have passed the next time
                send_new()

    thread = threading.Thread(target=now_and_then)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        send_new()


def _early(folder: Path) -> Iterator[str]:
    """Names of all other files, listed when the first is asked for; those with a dot are not yet whole."""
    for path in folder.glob("[!.]*"):
        if path.is_file() and path.name not in (*WRITTEN_LAST, *OF_ONE_MACHINE):
            yield path.name


def write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        with replacing(folder / name) as stream:
            stream.write(content)
