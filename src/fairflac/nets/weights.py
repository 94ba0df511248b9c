"""Weights from a file into a network."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from fairflac.errors import UserError


def load_weights(net: nn.Module, path: Path) -> None:
    """A local state dict (.pth, .pt or .safetensors), or a checkpoint of a fairflac run.

    The last layer, `fc`, is taken over when the number of classes agrees and left out otherwise.
    """
    state = _read(Path(path))
    own = net.state_dict()
    if "fc.weight" not in state or state["fc.weight"].shape != own["fc.weight"].shape:
        state |= {name: value for name, value in own.items() if name.startswith("fc.")}
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise UserError(
            f"'{path}' does not hold the weights of a {type(net).__name__} with these options: name the network it "
            "belongs to, with its options"
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        safe = path.suffix == ".safetensors"
        state: dict[str, Any] = (
            load_file(path) if safe else dict(torch.load(path, map_location="cpu", weights_only=True))
        )
    except FileNotFoundError:
        raise UserError(f"there is no weight file '{path}': check the path given as weights") from None
    except Exception as error:
        raise UserError(f"cannot read weights from '{path}': it must be a state dict (.pth or .safetensors)") from error
    if isinstance(state.get("method"), dict):  # a checkpoint of a run: the method's state, in which the network is one
        return {name.removeprefix("net."): v for name, v in state["method"].items() if name.startswith("net.")}
    return state
