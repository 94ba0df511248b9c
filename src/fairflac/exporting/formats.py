"""A run becomes a file for other programs, in one of several formats, and is checked before it is kept."""

import copy
import io
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save
from torch import Tensor, nn

from fairflac.data.pixels.augment import unit_floats
from fairflac.errors import UserError, unknown
from fairflac.exporting.card import INPUT, OUTPUTS, model_card, preprocessing_json
from fairflac.exporting.picture import as_png, card_picture
from fairflac.inference.model import KEY, Classifier, ModelMetadata
from fairflac.inference.open import NOTE, classifier_of, open_model, weights_of
from fairflac.methods.base import Method
from fairflac.nets.fast_conv import FastConv2d
from fairflac.reporting.naming import Names
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery
from fairflac.system.files import check_writable, replacing, write_text
from fairflac.training.build import load_method

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
    classifier = ExportedGraph(method)
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
    classifier = ExportedGraph(method)
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


class ExportedGraph(nn.Module):
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


SEEN, RANDOM = 24, 8  # test images of the run, and noise
BATCHES = (1, 8)
TOLERANCE = 1e-4  # of the largest logit, or of 1 if all are smaller; sums in another order differ by 1e-6


class Parity(NamedTuple):
    images: int
    largest_difference: float  # of a logit, as a share of the largest
    tolerance: float


def check(original: Classifier, exported: Classifier, run: Run) -> Parity:
    """An error if any logit of any image differs by more than the tolerance, in batches of several sizes."""
    images = _images(run, original.image_size)
    wanted = original.logits(images)
    largest = max(1.0, float(np.abs(wanted).max()))
    difference = max(float(np.abs(_in_batches(exported, images, size) - wanted).max()) for size in BATCHES) / largest
    if not difference <= TOLERANCE:  # NaN is no agreement either
        raise UserError(
            f"the exported model does not answer as '{run.path}' does: a logit differs by {difference:.1e} of the "
            f"largest, and {TOLERANCE:.0e} is allowed; nothing was written, try another format"
        )
    return Parity(len(images), difference, TOLERANCE)


def _in_batches(model: Classifier, images: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([model.logits(images[start : start + size]) for start in range(0, len(images), size)])


def _images(run: Run, size: tuple[int, int]) -> np.ndarray:
    """(M, H, W, 3). A gallery keeps small copies, which are stretched; a run of an earlier version has none."""
    noise = np.random.default_rng(0).integers(0, 256, (RANDOM, *size, 3), dtype=np.uint8)
    if not run.gallery.exists():
        return noise
    kept = Gallery.load(run.gallery).images
    chosen = kept[np.unique(np.linspace(0, len(kept) - 1, SEEN).astype(int))]
    stretched = [np.asarray(Image.fromarray(image).resize((size[1], size[0]))) for image in chosen]
    return np.concatenate([np.stack(stretched), noise])


@dataclass(frozen=True)
class Exported:
    file: Path
    card: Path
    picture: Path  # that the card shows
    preprocessing: Path | None  # beside weights alone, which cannot do it themselves
    parity: Parity


def export(
    run: Run, to: str, output: Path | None = None, *, licence: str = "other", folder: Path | None = None
) -> Exported:
    """Written only if the file, opened again, answers as the run does; without a name as model.* in `folder`, or in
    the run."""
    if to not in FORMATS:
        unknown("format", to, FORMATS)
    run.check_done()
    form = FORMATS[to]
    file = output or (folder or run.path) / f"model{form.endings[0]}"
    card, picture = file.with_suffix(".md"), file.with_suffix(".png")
    steps = file.with_suffix(".json") if to == "safetensors" else None
    _check_places(file, form.endings, [place for place in (card, picture, steps) if place])
    check_writable(file)
    method = load_method(run)
    metadata = ModelMetadata.of(run, method.spec)
    content = form.write(method, metadata)
    # A GPU may round as it likes: graphs are opened on the CPU, and weights where the run is.
    original = classifier_of(method, metadata, str(run.path), None if to == "safetensors" else "cpu")
    with tempfile.TemporaryDirectory() as aside:
        trial = Path(aside) / file.name
        trial.write_bytes(content)
        found = check(original, open_model(str(trial)), run)
    with replacing(file) as stream:
        stream.write(content)
    with replacing(picture) as stream:
        stream.write(as_png(card_picture(run.predictions, Names.of(run.result))))
    write_text(card, model_card(run, licence=licence, file=file.name, picture=picture.name))
    if steps:
        write_text(steps, preprocessing_json(metadata))
    return Exported(file, card, picture, steps, found)


def _check_places(file: Path, endings: tuple[str, ...], beside: list[Path]) -> None:
    """Before the work: a name that fits, and no file of the user's in the way."""
    if file.is_dir():
        raise UserError(f"'{file}' is a folder: name the file too, for example '{file / ('model' + endings[0])}'")
    if file.suffix not in endings:
        raise UserError(f"-o {file}: a file of this format ends in {' or '.join(endings)}")
    for place in beside:
        if place.exists() and "fairflac" not in place.read_text(errors="replace"):
            raise UserError(f"'{place}' is in the way of what is written beside '{file.name}': move one of them")
