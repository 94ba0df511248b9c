"""A model as the bytes of a file, in each format."""

import copy
import io
import json
import shlex
import warnings
from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor, nn

from fairflac.data.pixels.augment import unit_floats
from fairflac.data.pixels.decode import DRAFT, Fit
from fairflac.data.pixels.resample import centre_offset
from fairflac.errors import UserError
from fairflac.inference.model import KEY, ModelMetadata
from fairflac.inference.open import NOTE, weights_of
from fairflac.methods.base import Method
from fairflac.nets.fast_conv import FastConv2d
from fairflac.runs.directory import Run

OPSET = 17  # of 2022: old enough for every runtime that is in use


class Format(NamedTuple):
    endings: tuple[str, ...]  # the first is the usual one
    write: Callable[[Method, ModelMetadata], bytes]


def as_safetensors(method: Method, metadata: ModelMetadata) -> bytes:
    """Weights alone, with torchvision's names where the network has them."""
    state = {name: value.detach().cpu().contiguous() for name, value in weights_of(method).state_dict().items()}
    return save(state, {"format": "pt", KEY: metadata.model_dump_json()})


def as_torchscript(method: Method, metadata: ModelMetadata) -> bytes:
    content = io.BytesIO()
    classifier = Classifier(method)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the format is deprecated; whether it is right, the parity check tells
        traced = torch.jit.trace(classifier, classifier.example(), check_trace=False)
        torch.jit.save(traced, content, _extra_files={NOTE: metadata.model_dump_json()})
    return content.getvalue()


def as_onnx(method: Method, metadata: ModelMetadata) -> bytes:
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
    onnx.helper.set_model_props(model, {KEY: metadata.model_dump_json()})
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


FITS: dict[Fit, str] = {"cover": "ImageOps.fit(image, {size}, {filter})", "squash": "image.resize({size}, {filter})"}
FILTER = "Image.Resampling.BILINEAR"
# By the ending of the file: what to import, and how pixels become probabilities.
RUNTIMES = {
    ".onnx": (
        "import onnxruntime",
        """session = onnxruntime.InferenceSession({file!r}, providers=["CPUExecutionProvider"])
probabilities = session.run(["{output}"], {{"{input}": pixels}})[0][0]""",
    ),
    ".pt": (
        "import torch",
        """model = torch.jit.load({file!r})
probabilities = model(torch.tensor(pixels))[1][0].numpy()""",
    ),
}
RUNTIMES[".ts"] = RUNTIMES[".pt"]


def using(metadata: ModelMetadata, run: Run, file: str | None) -> list[str]:
    """With this program, and where the file is a whole graph, without it."""
    model = shlex.quote(file or "/".join(run.path.resolve().parts[-3:]))
    lines = [f"fairflac predict {model} photos/", *([] if file else [f"fairflac export {model} --to onnx"])]
    shown = ["```bash\npip install fairflac\n" + "\n".join(lines) + "\n```"]
    runtime = RUNTIMES.get(PurePath(file).suffix) if file else None
    if file and runtime:
        shown += ["Or without it:", f"```python\n{_program(metadata, file, *runtime)}\n```"]
    return shown


def _program(metadata: ModelMetadata, file: str, imports: str, answer: str) -> str:
    """The same as `fairflac predict`, but for images of more than 8 bits a channel."""
    (height, width), (rows, columns) = metadata.image_size, metadata.decoded_size
    top, left = centre_offset(metadata.decoded_size, metadata.image_size)
    fitted = FITS[metadata.fit].format(size=(columns, rows), filter=FILTER)
    return f"""import numpy as np
{imports}
from PIL import Image, ImageOps

classes = {list(metadata.classes)}
file = Image.open("photo.jpg")
file.draft("RGB", {(DRAFT * columns, DRAFT * rows)})
image = ImageOps.exif_transpose(file).convert("RGBA")
image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
image = {fitted}
pixels = np.asarray(image)[None, {top}:{top + height}, {left}:{left + width}]
{answer.format(file=file, input=INPUT, output=OUTPUTS[1])}
print(classes[probabilities.argmax()], probabilities.max())"""


FIT_WORDS: dict[Fit, str] = {
    "cover": "Take the largest part from the centre with the proportions of {size}, and scale it to {size} "
    "(bilinear, with antialiasing).",
    "squash": "Scale to {size} (bilinear, with antialiasing), whatever that does to proportions.",
}


def decoding(metadata: ModelMetadata) -> list[str]:
    """From a file to what an exported graph takes."""
    rows, columns = (DRAFT * side for side in metadata.decoded_size)
    steps = [
        f"Decode to RGB, 8 bits a channel: a large JPEG file at the smallest of 1/8, 1/4 and 1/2 that has {columns} "
        f'columns and {rows} rows (Pillow\'s draft("RGB", ({columns}, {rows}))). Apply the EXIF orientation; what is '
        "transparent becomes white.",
        FIT_WORDS[metadata.fit].format(size=_size(metadata.decoded_size)),
    ]
    if metadata.decoded_size != metadata.image_size:
        steps.append(f"Cut out the middle, {_size(metadata.image_size)}.")
    return steps


def normalising(metadata: ModelMetadata) -> list[str]:
    """From there to what the network takes; an exported graph does it itself."""
    mean, std = (", ".join(f"{value:g}" for value in values) for values in (metadata.mean, metadata.std))
    return [f"Divide by 255, subtract the mean ({mean}), divide by the standard deviation ({std}); channels first."]


def as_json(metadata: ModelMetadata) -> str:
    """In words, and every number by its name."""
    return (
        json.dumps({"steps": decoding(metadata) + normalising(metadata), **metadata.model_dump(mode="json")}, indent=1)
        + "\n"
    )


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} (height x width)" if size[0] != size[1] else f"{size[0]} x {size[1]}"
