"""Any `nn.Module` that classifies, as a network that shows its features."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn

from fairflac.errors import UserError, unknown
from fairflac.types import Network, Output

IMAGES = (2, 3, 64, 64)  # what a module is tried on unless its caller knows better


def adapt(
    module: nn.Module, num_classes: int, features: str | None = None, *, example: Tensor | None = None
) -> Network:
    """A copy of a classifier as a `Network`.

    Its features are the input of the last `nn.Linear` that a forward pass goes through, or the output of the layer
    that `features` names. A last Linear with another number of outputs is replaced by a new one. `example` is a batch
    of what the module takes, if that is not images of 64 x 64.
    """
    own = copy.deepcopy(nn.Sequential(module) if isinstance(module, nn.Linear) else module)
    if isinstance(own, Network):
        if own.fc.out_features != num_classes:
            own.fc = _like(own.fc, num_classes)
        return own
    x = torch.randn(IMAGES) if example is None else example
    first = _traced(own, x)
    head = first.head(own)
    linear = own.get_submodule(head)
    assert isinstance(linear, nn.Linear)
    if linear.out_features != num_classes:
        own.set_submodule(head, _like(linear, num_classes))
    adapted = Adapted(own, head, features)
    adapted.describe(x, num_classes, first.maps)
    return adapted


def with_features(module: nn.Module, example: Tensor) -> Network | None:
    """The same, of a module that is taken as it is; None if it does not end in an `nn.Linear`."""
    if isinstance(module, Network):
        return module
    with suppress(UserError):  # who asks it for logits hears what is wrong
        first = _traced(module, example)
        if isinstance(first.output, Tensor) and any(output is first.output for _, output in first.linears):
            return adapt(module, first.output.shape[1], example=example)
    return None


@final
class Adapted(Network):
    """A user's module and where its features are. Made by `adapt`."""

    def __init__(self, module: nn.Module, head: str, layer: str | None) -> None:
        super().__init__()
        if layer is not None and layer not in dict(module.named_modules()):
            children = ", ".join(name for name, _ in module.named_children())
            raise UserError(f"{_kind(module)} has no layer '{layer}' to take features from: it has {children}")
        self.module = module
        self.head, self.layer = head, layer  # names, not layers: a copy must listen to itself

    @property
    def fc(self) -> nn.Linear:  # type: ignore[override]
        linear = self.module.get_submodule(self.head)
        assert isinstance(linear, nn.Linear)
        return linear

    def forward(self, x: Tensor) -> Output:
        seen: list[Any] = []
        if self.layer is None:
            hook = self.fc.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        else:
            hook = self.module.get_submodule(self.layer).register_forward_hook(lambda *call: seen.append(call[2]))
        try:
            logits = self.module(x)
        finally:
            hook.remove()
        if not seen:
            raise UserError(f"{_kind(self.module)} does not use its layer '{self.layer}': name one that it does")
        return Output(logits, _flat(seen[-1]))

    def describe(self, x: Tensor, num_classes: int, maps: list[tuple[str, int]]) -> None:
        """Try it, check what it gives, and keep what a `Network` knows of itself."""
        with _resting(self), torch.no_grad():
            logits, features = self(_on_same_device(self.module, x))
        _check(self.module, logits, features, self.layer, (len(x), num_classes))
        self.feature_dim = features.shape[1]
        if maps:
            self.middle, self.middle_dim = f"module.{maps[len(maps) // 2][0]}", maps[len(maps) // 2][1]


class _ForwardPass(NamedTuple):
    """What a module computed in one forward pass."""

    output: object
    linears: list[tuple[str, object]]  # name and output of every Linear, in the order of their calls
    maps: list[tuple[str, int]]  # name and channels of every convolution that is used once

    def head(self, module: nn.Module) -> str:
        """The Linear whose output is that of the module, or else the last."""
        if not self.linears:
            raise UserError(f"{_kind(module)} uses no nn.Linear: give it one as its last layer")
        return next((name for name, output in self.linears if output is self.output), self.linears[-1][0])


def _traced(module: nn.Module, x: Tensor) -> _ForwardPass:
    calls: list[tuple[str, nn.Module, object]] = []
    hooks = [
        layer.register_forward_hook(lambda layer, _, output, name=name: calls.append((name, layer, output)))
        for name, layer in module.named_modules()
        if name
    ]
    try:
        with _resting(module), torch.no_grad():
            output = module(_on_same_device(module, x))
    except Exception as error:  # whatever a stranger's code raises
        raise UserError(f"{_kind(module)} fails on a batch of shape {tuple(x.shape)}: {error}") from error
    finally:
        for hook in hooks:
            hook.remove()
    names = [name for name, *_ in calls]
    linears = [(name, output) for name, layer, output in calls if isinstance(layer, nn.Linear)]
    maps = [(n, layer.out_channels) for n, layer, _ in calls if isinstance(layer, nn.Conv2d) and names.count(n) == 1]
    return _ForwardPass(output, linears, maps)


def _check(module: nn.Module, logits: object, features: object, layer: str | None, shape: tuple[int, int]) -> None:
    if not isinstance(logits, Tensor) or logits.shape != shape:
        raise UserError(f"{_kind(module)} gives {_shape(logits)}: {shape[1]} classes need one row each, {shape}")
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != shape[0]:
        where = f"layer '{layer}'" if layer else "the input of the last Linear"
        raise UserError(
            f"{where} of {_kind(module)} gives features {_shape(features)}: name a layer that gives one row of "
            "numbers for each input, with features=…"
        )
    if logits.min() >= 0 and torch.allclose(logits.sum(1).float(), torch.ones(len(logits), device=logits.device)):
        raise UserError(f"{_kind(module)} gives probabilities: leave out its softmax, which the loss has of its own")


def _flat(features: Any) -> Any:
    """A map of one pixel is as good as a row."""
    single = isinstance(features, Tensor) and features.ndim > 2 and features[0].numel() == features.shape[1]
    return features.flatten(1) if single else features


def _like(linear: nn.Linear, outputs: int) -> nn.Linear:
    weight = linear.weight
    return nn.Linear(linear.in_features, outputs, linear.bias is not None, device=weight.device, dtype=weight.dtype)


@contextmanager
def _resting(module: nn.Module) -> Iterator[None]:
    """In eval mode, so that no statistics move; every layer is put back into the mode that it had."""
    modes = [(layer, layer.training) for layer in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for layer, training in modes:
            layer.training = training


def _on_same_device(module: nn.Module, x: Tensor) -> Tensor:
    weight = next(module.parameters(), x)
    return x.to(weight.device)


def _kind(module: nn.Module) -> str:
    return f"the module {type(module).__name__}"


def _shape(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else f"a {type(value).__name__}"


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
