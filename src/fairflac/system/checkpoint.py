"""Checkpoints: plain dictionaries, written whole, read without executing anything."""

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch

from fairflac.errors import UserError
from fairflac.system.files import replacing


def save(path: Path, state: dict[str, Any]) -> None:
    content = io.BytesIO()  # torch's own writer hides the reason when the disk is full
    torch.save(state, content)
    with replacing(path) as stream:
        stream.write(content.getbuffer())


def load(path: Path, *, mapped: bool = False) -> dict[str, Any]:
    """Tensors come to the CPU, or with `mapped` stay in the file until they are read.

    `load_state_dict` moves them where they belong.
    """
    if not path.is_file():
        raise UserError(f"there is no checkpoint '{path}': has this run started?")
    try:
        state: dict[str, Any] = read_tensors(path, mapped=mapped)
    except Exception as error:
        raise UserError(
            f"the checkpoint '{path}' is damaged: delete it (training starts anew) or put back a copy"
        ) from error
    return state


def read_tensors(path: Path, *, mapped: bool = False) -> Any:
    """What torch saved, as far as it is tensors and plain values: nothing in the file is run."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise ValueError("torch packs nothing: this may unpack to any size")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own about pickles that it then refuses
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
