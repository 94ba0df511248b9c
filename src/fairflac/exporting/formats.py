"""A model as the bytes of a file, in each format."""

import copy
import io
import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor, nn

from fairflac.data.pixels.augment import unit_floats
from fairflac.errors import UserError
from fairflac.inference.metadata import KEY, Facts
from fairflac.inference.open import NOTE, weights_of
from fairflac.methods.base import Method
from fairflac.nets.fast_conv import FastConv2d

OPSET = 17  # of 2022: old enough for every runtime that is in use


class Format(NamedTuple):
    endings: tuple[str, ...]  # the first is the usual one
    write: Callable[[Method, Facts], bytes]


def as_safetensors(method: Method, facts: Facts) -> bytes:
    """Weights alone, with torchvision's names where the network has them."""
    state = {name: value.detach().cpu().contiguous() for name, value in weights_of(method).state_dict().items()}
    return save(state, {"format": "pt", KEY: facts.model_dump_json()})


def as_torchscript(method: Method, facts: Facts) -> bytes:
    content = io.BytesIO()
    classifier = Classifier(method)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the format is deprecated; whether it is right, the parity check tells
        traced = torch.jit.trace(classifier, classifier.example(), check_trace=False)
        torch.jit.save(traced, content, _extra_files={NOTE: facts.model_dump_json()})
    return content.getvalue()


def as_onnx(method: Method, facts: Facts) -> bytes:
    """By torch's older exporter: the newer one takes no mask of heads (`di`), is a hundred times slower, and chatty."""
    try:
        import onnx
    except ImportError:
        raise UserError('writing ONNX needs a package: pip install "fairflac[onnx]"') from None
    content = io.BytesIO()
    classifier = Classifier(method)
    names = (INPUT, *OUTPUTS)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # it is deprecated; whether the graph is right, the parity check tells
        torch.onnx.export(
            classifier,
            (classifier.example(),),
            content,  # type: ignore[arg-type]  # the older exporter writes to streams too
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "N"} for name in names},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(content.getvalue())
    onnx.helper.set_model_props(model, {KEY: facts.model_dump_json()})
    onnx.checker.check_model(model)
    written: bytes = model.SerializeToString()
    return written


FORMATS = {
    "safetensors": Format((".safetensors",), as_safetensors),
    "onnx": Format((".onnx",), as_onnx),
    "torchscript": Format((".pt", ".ts"), as_torchscript),
}


INPUT, OUTPUTS = "images", ("logits", "probabilities")


class Classifier(nn.Module):
    """(N, H, W, 3) uint8 → (N, C) logits and probabilities, by the way that the method itself predicts."""

    mean: Tensor
    std: Tensor

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = with_plain_convolutions(method).float().eval().requires_grad_(False)
        self.register_buffer("mean", torch.tensor(method.spec.mean).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(method.spec.std).view(1, 3, 1, 1))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.method.predict((unit_floats(images) - self.mean) / self.std)
        return logits, logits.softmax(1)

    def example(self) -> Tensor:
        """Two images, with which the graph is recorded."""
        return torch.zeros(2, *self.method.spec.image_size, 3, dtype=torch.uint8)


def with_plain_convolutions(method: Method) -> Method:
    """A copy on the CPU in which no convolution takes a way of its own, which a recorded graph would keep."""
    copied = copy.deepcopy(method).cpu()
    for module in copied.modules():
        if isinstance(module, FastConv2d):
            module.__class__ = nn.Conv2d  # type: ignore[assignment]  # same state, and the forward pass of its parent
    return copied
