"""Processes of one machine that train together: where one is lost all end, and the first says so in one line."""

import os
import subprocess
import sys
import threading
import time
from functools import cache
from typing import NoReturn

import torch.distributed as dist
from lightning_fabric.strategies.launchers import subprocess_script

FIRST = "FAIRFLAC_FIRST_PROCESS"  # its id, for those that it starts
LOOK_SECONDS, GRACE_SECONDS = 0.5, 10.0  # who waits for a message of one that is gone gets an error, and ends by itself
LOST = (
    "one of the processes that train together has ended: unless it was killed, its own message says why. "
    "Give the same command again, which goes on from the last checkpoint"
)


SAID = "said"  # in the store of all processes: why one of them ends


def tell_first(message: str) -> None:
    """Before this process ends of something that the first, which alone speaks, may not know of."""
    if dist.is_initialized() and dist.get_rank():
        dist.distributed_c10d._get_default_store().set(SAID, message)


def why_lost() -> str:
    """After a message between processes has failed. Only the first asks: it holds the store."""
    if dist.is_initialized() and dist.get_rank() == 0:
        store = dist.distributed_c10d._get_default_store()
        if store.check([SAID]):
            return str(store.get(SAID).decode())
    return LOST


@cache
def end_together() -> None:
    """From now on processes that are launched end with the first of them, and it with them. To be called in each."""
    if "LOCAL_RANK" not in os.environ:
        os.environ[FIRST] = str(os.getpid())
        # In place of Lightning's own watch, which kills this process as well, without a word.
        subprocess_script._launch_process_observer = _watch_others
    elif os.environ["LOCAL_RANK"] != "0" and FIRST in os.environ:  # torchrun and SLURM look after theirs
        threading.Thread(target=_watch_first, args=(int(os.environ[FIRST]),), daemon=True).start()


def _watch_others(child_processes: list[subprocess.Popen[bytes]]) -> None:
    threading.Thread(target=_end_with, args=(child_processes,), daemon=True).start()


def _end_with(others: list[subprocess.Popen[bytes]]) -> None:
    while not any(codes := [other.poll() for other in others]):
        if all(code == 0 for code in codes):
            return
        time.sleep(LOOK_SECONDS)
    time.sleep(GRACE_SECONDS)
    for other in others:
        other.kill()
    print(f"fairflac: {LOST}", file=sys.stderr, flush=True)
    _leave(2)


def _watch_first(first: int) -> None:
    while os.getppid() == first:
        time.sleep(LOOK_SECONDS)
    time.sleep(GRACE_SECONDS)
    _leave(1)


def _leave(code: int) -> NoReturn:
    """Whatever the main thread waits for."""
    os._exit(code)
