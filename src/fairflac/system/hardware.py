"""What this machine is and what it can compute."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

import torch

from fairflac.system.bf16 import bf16_works, cpuinfo_line


def cpu_name() -> str:
    """The processor's own name where the system tells it."""
    told = cpuinfo_line("model name").partition(":")[2].strip()
    return told or platform.processor() or platform.machine()


def has_bf16(device: str) -> bool:
    """Can it compute in bf16 itself? Emulated, that is many times slower than fp32, and a processor's flags promise too
    much."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device == "cpu":
        capabilities = torch.cpu.get_capabilities()
        claimed = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
        return bool(claimed) and bf16_works()
    return False


def device_name(device: torch.device) -> str:
    """What the machine has several of, or may be changed."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def synchronise(device: torch.device) -> None:
    """Wait until it has done what it was told, before a clock is read."""
    getattr(torch, device.type).synchronize()


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """What every answer of a model is computed in, so that all ways to ask agree: fp32, without a GPU's TF32."""
    # Matrix products have no TF32 unless somebody asks.
    convolution = torch.backends.cudnn.conv  # type: ignore[attr-defined]
    before = convolution.fp32_precision
    convolution.fp32_precision = "ieee"
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        convolution.fp32_precision = before


WITHOUT_DOUBLE = ("mps",)  # Apple's GPUs: a tensor in fp64 is an error there


def finest_float(device: torch.device) -> torch.dtype:
    """fp64 where the device has it, for what would lose too many digits."""
    return torch.float32 if device.type in WITHOUT_DOUBLE else torch.float64


def best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def installed(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def describe() -> dict[str, str | int]:
    """What is worth writing beside a result."""
    return {
        "fairflac": installed("fairflac") or "not installed",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "device": best_device(),
        "cpu": cpu_name(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "bf16": _bf16_in_words(best_device()),
    }


def _bf16_in_words(device: str) -> str:
    if has_bf16(device):
        return "yes"
    broken = device == "cpu" and torch.cpu.get_capabilities().get("amx_bf16") and not bf16_works()
    return "no: this machine announces AMX, and a process that uses it dies" if broken else "no"
