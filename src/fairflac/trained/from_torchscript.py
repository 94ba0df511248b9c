"""Models from TorchScript files."""

import warnings
from pathlib import Path

import numpy as np
import torch

from fairflac.errors import UserError
from fairflac.trained.facts import KEY, Facts
from fairflac.trained.model import Trained
from fairflac.trained.seeing import as_array, foreign_task, square, torch_logits

NOTE = f"{KEY}.json"  # the file inside the archive that holds the facts


def open_torchscript(path: Path, size: int | None) -> Trained:
    """A file of ours takes pixels and knows its classes; any other takes normalised floats (B, 3, H, W).

    `torch.jit.load` runs what TorchScript can express, which is arithmetic on tensors: no Python object in the file is
    unpickled into anything else.
    """
    note = {NOTE: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the format is, and people have such files
            module = torch.jit.load(path, map_location="cpu", _extra_files=note).eval()
    except Exception as error:  # the reader raises nearly anything on damaged files
        raise UserError(f"'{path}' is damaged: it begins as a TorchScript file and cannot be opened") from error
    if not note[NOTE]:
        task = foreign_task(square(size, str(path)))
        logits = torch_logits(module, task, torch.device("cpu"))
        return Trained(str(path), logits, task.image_size, task.image_size, None)
    facts = Facts.read(note[NOTE], path)

    def from_pixels(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return as_array(module(torch.tensor(images)))

    return Trained(str(path), from_pixels, facts.image_size, facts.decoded_size, facts.classes, facts.fit)
