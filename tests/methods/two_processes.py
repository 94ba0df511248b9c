"""Run by test_conformance.py as one of two workers: train every method and let the first worker save the result."""

import sys
import warnings
from pathlib import Path

import torch

from fairflac.training.engine import make_fabric
from toy import CASES, toy_training

if __name__ == "__main__":
    warnings.simplefilter("error")
    folder = Path(sys.argv[1])
    fabric = make_fabric("32-true", devices=2)
    for name in CASES:
        training = toy_training(name, folder / name, fabric)
        training.fit(name, silent=True)
        if fabric.is_global_zero:
            result = {"method": training.method.state_dict(), "history": training.state.history}
            torch.save(result, folder / f"{name}.pt")
    fabric.barrier()
    torch.distributed.destroy_process_group()
