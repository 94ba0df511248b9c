"""One run, made on behalf of an executor: silently, and with an answer whatever happens.

As a process of its own (`python -m fairflac.reproduction.worker`) it reads its task from standard input and
writes its answer to standard output. The input stays open as a leash: when it closes, because the executor
stops or has died, training stops at its next step with everything saved.
"""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from fairflac.config import plugins
from fairflac.config.run_config import RunConfig
from fairflac.errors import RunInUse, Stopped, UserError, describe_os_error
from fairflac.runs.directory import Run, Workspace
from fairflac.training.pipeline import train_config


@dataclass(frozen=True)
class Outcome:
    """How the work on a run ended. What is `lost` may succeed when it is tried again, what `failed` will not."""

    end: Literal["done", "failed", "lost", "in use", "stopped"]
    reason: str = ""


def log_of(run: Run) -> Path:
    """What the making of a run said; a run that said nothing has none."""
    return run.path / "worker.log"


def make(config: RunConfig, workspace: Workspace) -> Outcome:
    """Train one run (or go on with it) and say how it ended."""
    log = log_of(workspace.run(config))
    try:
        plugins.load()
        with _spoken_into(log):
            train_config(config, replace(workspace, silent=True))
    except RunInUse as error:
        return Outcome("in use", str(error))
    except UserError as error:
        return Outcome("failed", str(error))
    except (Stopped, KeyboardInterrupt) as error:
        return Outcome("stopped", str(error))
    except OSError as error:
        return Outcome("lost", describe_os_error(error))
    except Exception as error:
        said = traceback.format_exception_only(error)[-1].strip()
        return Outcome("lost", " ".join(f"{said} (more in {log})".split()))
    return Outcome("done")


@contextmanager
def _spoken_into(log: Path) -> Iterator[None]:
    """What libraries print goes to a file, and the story of an unexpected end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("a") as stream, redirect_stdout(stream), redirect_stderr(stream):
            try:
                yield
            except (UserError, Stopped):
                raise
            except Exception:
                traceback.print_exc()
                raise
    finally:
        with suppress(FileNotFoundError):  # another process may have tried the same run
            if not log.stat().st_size:
                log.unlink()


def task_line(config: RunConfig, workspace: Workspace) -> str:
    """What a worker process reads."""
    task = {"config": config.model_dump(mode="json"), "runs": str(workspace.runs), "data": str(workspace.data)}
    return json.dumps(task) + "\n"


def _stop_when_left_alone() -> None:
    """Ends this process as SIGTERM does once nobody holds the other end of standard input."""
    while os.read(0, 1):  # not sys.stdin, whose lock a waiting thread would hold at exit
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # an answer is all that standard output carries
        task = json.loads(sys.stdin.readline())
        threading.Thread(target=_stop_when_left_alone, daemon=True).start()
        config = RunConfig.model_validate(task["config"])
        outcome = make(config, Workspace(Path(task["runs"]), Path(task["data"])))
        json.dump(asdict(outcome), answers)


if __name__ == "__main__":
    main()
