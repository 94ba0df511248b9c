"""Does this processor compute in bf16, and is a network faster in it? Tried once on a machine, and kept.

A processor's flags do not tell: without AMX bf16 can be the slower one, and some virtual machines announce AMX and end
every process that uses it. Imports no torch.
"""

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from fairflac.system.files import write_text

BROKEN = 0.0  # the gain of what does not work
ISA = "ONEDNN_MAX_CPU_ISA"
WITHOUT_AMX = "AVX512_CORE_FP16"  # all that a processor with AMX has besides
TRIAL_SECONDS = 120
# Forward and backward pass of a convolution and of products, as networks here have them: a processor may die of one and
# not of the other.
TRIAL = """
import torch
conv = torch.nn.Conv2d(64, 64, 3, padding=1).to(memory_format=torch.channels_last)
linear = torch.nn.Linear(64, 256)
x = torch.randn(32, 64, 28, 28).contiguous(memory_format=torch.channels_last)
with torch.autocast("cpu", torch.bfloat16):
    y = linear(conv(x).permute(0, 2, 3, 1).flatten(0, 2)) + linear(conv(x).mean((2, 3))).mean()
y.float().mean().backward()
"""


@cache
def bf16_works() -> bool:
    """Does a process live on that computes in bf16? Tried in one of its own."""
    return kept_gain(_tried) != BROKEN


def kept_gain(measure: Callable[[], float], *what: str) -> float:
    """What was measured of `what` on this machine before, or now, and kept in the user's cache."""
    kept = _kept(what)
    with suppress(OSError, ValueError):
        return float(kept.read_text())
    gain = measure()
    with suppress(OSError):  # a home that cannot be written to costs a trial each time
        write_text(kept, f"{gain}\n")
    return gain


def keep_clear_of_broken_amx() -> None:
    """Before torch computes anything: where AMX is announced and ends processes, its library is told to do without."""
    if ISA not in os.environ and "amx_bf16" in _cpuinfo().split() and not bf16_works():
        os.environ[ISA] = WITHOUT_AMX


def _tried() -> float:
    try:
        done = subprocess.run([sys.executable, "-c", TRIAL], capture_output=True, timeout=TRIAL_SECONDS)
        return BROKEN if done.returncode else 1.0
    except (OSError, subprocess.TimeoutExpired):
        return BROKEN


def _kept(what: tuple[str, ...]) -> Path:
    """Where the answer is kept, for this processor, kernel and torch."""
    machine = [cpuinfo_line("model name"), cpuinfo_line("flags"), platform.platform(), version("torch")]
    facts = "\n".join([*machine, os.environ.get(ISA, ""), *what])
    key = hashlib.sha256(facts.encode()).hexdigest()[:12]
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairflac" / f"bf16-gain-{key}"


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def cpuinfo_line(name: str) -> str:
    """The first line of that name, where the system tells it."""
    return next((line for line in _cpuinfo().splitlines() if line.startswith(name)), "")
