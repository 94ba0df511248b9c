"""The networks of timm, where it is installed."""

from typing import Any

import torch

from fairflac.errors import UserError, unknown
from fairflac.nets.adapted import adapt
from fairflac.types import Network


def timm_net(num_classes: int, *, model: str, pretrained: bool = False) -> Network:
    """Any network of timm: `model` is its name there, `pretrained` fetches published weights (extra: timm)."""
    timm = _timm()
    if not timm.is_model(model.partition(".")[0]):
        unknown("network of timm", model, timm.list_models())
    module = _created(timm, model, pretrained, num_classes)
    module.register_forward_pre_hook(_check_size)
    return adapt(module, num_classes, example=torch.randn(2, *module.pretrained_cfg["input_size"]))


def _timm() -> Any:
    try:
        import timm
    except ImportError as error:
        raise UserError(f'networks of timm need timm ({error}): pip install "fairflac[timm]"') from error
    except RuntimeError as error:  # a torchvision that was built for another torch
        raise UserError(f"timm is there, but torchvision does not fit to this torch: {error}") from error
    return timm


def _created(timm: Any, model: str, pretrained: bool, num_classes: int) -> Any:
    """Transformers of one image size take any if asked to; other networks do not know the question."""
    try:
        try:
            return timm.create_model(model, pretrained, num_classes=num_classes, dynamic_img_size=True)
        except TypeError:
            return timm.create_model(model, pretrained, num_classes=num_classes)
    except Exception as error:  # timm has many ways to say that a name or its weights are not to be had
        raise UserError(f"timm cannot make '{model}': {error}") from error


def _check_size(module: Any, inputs: tuple[torch.Tensor, ...]) -> None:
    """A network of one size says so in a line; a function of the module, for a copy has another one."""
    fixed = module.pretrained_cfg.get("fixed_input_size") and not getattr(module, "dynamic_img_size", False)
    size = tuple(module.pretrained_cfg["input_size"][1:])
    if fixed and tuple(inputs[0].shape[2:]) != size:
        raise UserError(f"this network of timm takes images of {size[0]} x {size[1]} only: set size to {size[0]}")
