"""Models from run directories, and from the weights that were exported from one."""

from pathlib import Path

import torch

from fairflac.build import build_method, load_method
from fairflac.errors import UserError
from fairflac.hardware import best_device
from fairflac.methods.base import Method
from fairflac.runs import Run
from fairflac.trained.facts import Facts
from fairflac.trained.model import Trained
from fairflac.trained.seeing import torch_logits


def open_run(path: Path) -> Trained:
    method = load_method(run := Run.finished(path))
    return trained(method, Facts.of(run, method.spec), str(run.path))


def open_exported_weights(state: dict[str, torch.Tensor], facts: Facts, path: Path) -> Trained:
    try:
        method = build_method(facts.config, facts.task)
        weights_of(method).load_state_dict(state)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"the weights in '{path}' are not those of the network it names: export it again") from error
    return trained(method, facts, str(path))


def weights_of(method: Method) -> torch.nn.Module:
    """All that prediction needs: the network alone, unless the method has its own way to predict."""
    return method.net if type(method).predict is Method.predict else method


def trained(method: Method, facts: Facts, source: str, device_name: str | None = None) -> Trained:
    device = torch.device(device_name or best_device())
    predict = method.to(device).eval().predict
    logits = torch_logits(predict, facts.task, device)
    return Trained(source, logits, facts.image_size, facts.decoded_size, facts.classes, facts.fit)
