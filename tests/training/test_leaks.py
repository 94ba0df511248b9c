"""A thousand steps leave nothing behind: no memory, no thread, no open file."""

import gc
import os
import threading
from pathlib import Path

import pytest
from lightning_fabric import Fabric

from toy import toy_training

WARM_UP, STEPS = 200, 1000
MOST_KB = 2048  # 2 kB a step: less than the images of its batch


def kilobytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def state() -> tuple[int, int]:
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flac", "lff", "jtt"])
def test_a_thousand_steps_leave_nothing_behind(name: str, fabric: Fabric, tmp_path: Path) -> None:
    training = toy_training(name, tmp_path, fabric)
    training.method.begin_epoch(0, training.batch_of.unaugmented())
    index = training._batches(0)[0]

    def steps(number: int) -> None:
        for _ in range(number):
            training.method.step(training.batch_of(index, 0), training.optimisation)
        gc.collect()

    steps(WARM_UP)
    before, size = state(), kilobytes()
    steps(STEPS)
    assert state() == before
    assert kilobytes() - size < MOST_KB
