"""Models from ONNX files, with onnxruntime."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairflac.errors import UserError
from fairflac.trained.facts import KEY, Facts
from fairflac.trained.model import Trained
from fairflac.trained.seeing import foreign_task, normalised, square


def open_onnx(path: Path, size: int | None) -> Trained:
    """A file of ours takes pixels and knows its classes; any other takes normalised floats (B, 3, H, W)."""
    session = _session(path)
    note = session.get_modelmeta().custom_metadata_map.get(KEY)
    if note is not None:
        facts = Facts.read(note, path)
        run = _runner(session, batch=None)
        return Trained(str(path), run, facts.image_size, facts.decoded_size, facts.classes, facts.fit)
    batch, fixed = _shape(session, path)
    task = foreign_task(fixed or square(size, str(path)))
    run = _runner(session, batch)
    cpu = torch.device("cpu")

    def logits(images: np.ndarray) -> np.ndarray:
        return run(normalised(images, task, cpu).contiguous().numpy())

    return Trained(str(path), logits, task.image_size, task.image_size, None)


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise UserError('ONNX files are opened with onnxruntime: pip install "fairflac[onnx]"') from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise UserError(f"onnxruntime cannot open '{path}': {_first_line(error)}") from error


def _shape(session: Any, path: Path) -> tuple[int | None, tuple[int, int] | None]:
    """Size of the batch and of the images, where the graph fixes them."""
    inputs = session.get_inputs()
    what = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
    wanted = f"'{path}' does not take one batch of images, float (N, 3, H, W), but {what}: export it with such an input"
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 4:
        raise UserError(wanted)
    batch, channels, height, width = (one if isinstance(one, int) else None for one in inputs[0].shape)
    if channels not in (3, None):
        raise UserError(wanted)
    return batch, (height, width) if height and width else None


def _runner(session: Any, batch: int | None) -> Callable[[np.ndarray], np.ndarray]:
    """From inputs to the output called logits, or the first one; a graph with a fixed batch gets parts of that size."""
    outputs = [one.name for one in session.get_outputs()]
    output, name = ("logits" if "logits" in outputs else outputs[0]), session.get_inputs()[0].name

    def run(x: np.ndarray) -> np.ndarray:
        step = batch or max(len(x), 1)
        parts = []
        for start in range(0, len(x), step):
            part = x[start : start + step]
            missing = step - len(part) if batch else 0
            filled = np.concatenate([part, np.zeros((missing, *x.shape[1:]), x.dtype)])
            parts.append(np.asarray(session.run([output], {name: filled})[0])[: len(part)])
        return np.concatenate(parts).astype(np.float32)

    return run


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
