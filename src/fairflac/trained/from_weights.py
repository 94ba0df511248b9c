"""Models from files that hold weights alone: safetensors and state dicts."""

from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from fairflac.errors import UserError, unknown
from fairflac.hardware import best_device
from fairflac.nets import NETS
from fairflac.nets.weights import does_not_fit, read_state
from fairflac.options import checked, options_of, parse_assignments
from fairflac.trained.facts import KEY, Facts
from fairflac.trained.from_run import open_exported_weights
from fairflac.trained.model import Trained
from fairflac.trained.seeing import foreign_task, square, torch_logits

WRAPPERS = ("state_dict", "model_state_dict", "model")  # under which training scripts keep weights among other things
PREFIX = "module."  # of weights that were saved from inside DataParallel


def open_safetensors(path: Path, net: str | None, size: int | None) -> Trained:
    """A file of ours names its network; of any other the user has to."""
    try:
        with safe_open(path, "pt") as file:
            note = (file.metadata() or {}).get(KEY)
            state = {name: file.get_tensor(name) for name in file.keys()} if note else {}  # noqa: SIM118 (no mapping)
    except Exception as error:
        raise UserError(f"'{path}' is no safetensors file, or a damaged one: fetch or export it again") from error
    if not note:
        return open_weights(path, net, size)
    if net is not None:
        raise UserError(f"'{path}' names its network itself: leave out --net {net}")
    return open_exported_weights(state, Facts.read(note, path), path)


def open_weights(path: Path, net: str | None, size: int | None) -> Trained:
    """Weights of one of `NETS`, which `net` names, with its options if it has some: `resnet18 stem=cifar`."""
    if net is None:
        raise UserError(
            f"'{path}' holds no network, at most the weights of one: name it, for example --net resnet18; "
            "of a run, give the directory instead of a file in it"
        )
    name, *pairs = net.split() or [""]
    if name not in NETS:
        unknown("net", name, NETS)
    if not all("=" in pair for pair in pairs):
        raise UserError(f"--net '{net}': options are KEY=VALUE, for example --net 'resnet18 stem=cifar'")
    network: Any = NETS[name]
    options = checked(options_of(network), parse_assignments(pairs), f"--net {name}")
    state = _weights(path, network.__name__)
    try:
        built = network(len(state["fc.weight"]), **dict(options))
        built.load_state_dict(state)
    except (KeyError, TypeError, RuntimeError) as error:
        raise does_not_fit(path, network.__name__) from error
    task, device = foreign_task(square(size, str(path))), torch.device(best_device())
    logits = torch_logits(built.to(device).eval(), task, device)
    return Trained(str(path), logits, task.image_size, task.image_size, None)


def _weights(path: Path, kind: str) -> dict[str, Any]:
    state = read_state(path, kind)
    inner = next((state[key] for key in WRAPPERS if isinstance(state.get(key), dict)), state)
    return {name.removeprefix(PREFIX): value for name, value in inner.items()}
