"""Models from a function of the user's: `module:function`."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fairflac.errors import UserError
from fairflac.hardware import best_device
from fairflac.trained.model import Trained
from fairflac.trained.seeing import foreign_task, square, torch_logits

NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def open_factory(name: str, size: int | None) -> Trained:
    """What `module:function` returns, an nn.Module that takes normalised floats (B, 3, H, W).

    The module is Python code and is run, because the user typed its name; it may lie in the current folder.
    """
    where, _, attribute = name.partition(":")
    factory = _find(where, attribute)
    try:
        module = factory()
    except Exception as error:
        raise UserError(f"{name}() failed with {type(error).__name__}: {error}") from error
    if not isinstance(module, nn.Module):
        raise UserError(f"{name}() returned {type(module).__name__}: it must return a torch.nn.Module")
    task, device = foreign_task(square(size, name)), torch.device(best_device())
    logits = torch_logits(module.to(device).eval(), task, device)
    return Trained(name, logits, task.image_size, task.image_size, None)


def _find(where: str, attribute: str) -> Any:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name and where.startswith(error.name):
            raise UserError(f"there is no module '{where}' to import, in this folder or installed") from None
        raise UserError(f"'{where}' cannot be imported: it needs '{error.name}', which is not installed") from error
    except Exception as error:
        raise UserError(f"'{where}' cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UserError(f"'{where}' has no function '{attribute}' that returns a model")
    return found
