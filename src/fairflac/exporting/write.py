"""A run → a file for other programs, checked before it is kept."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from fairflac.errors import UserError, unknown
from fairflac.exporting.card import model_card
from fairflac.exporting.formats import FORMATS, as_json
from fairflac.inference.model import Classifier, ModelMetadata
from fairflac.inference.open import classifier_of, open_model
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery
from fairflac.system.files import check_writable, replacing, write_text
from fairflac.training.build import load_method

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
    card, steps = file.with_suffix(".md"), file.with_suffix(".json") if to == "safetensors" else None
    _check_places(file, form.endings, [place for place in (card, steps) if place])
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
    write_text(card, model_card(run, licence=licence, file=file.name))
    if steps:
        write_text(steps, as_json(metadata))
    return Exported(file, card, steps, found)


def _check_places(file: Path, endings: tuple[str, ...], beside: list[Path]) -> None:
    """Before the work: a name that fits, and no file of the user's in the way."""
    if file.is_dir():
        raise UserError(f"'{file}' is a folder: name the file too, for example -o {file / ('model' + endings[0])}")
    if file.suffix not in endings:
        raise UserError(f"-o {file}: a file of this format ends in {' or '.join(endings)}")
    for place in beside:
        if place.exists() and "fairflac" not in place.read_text(errors="replace"):
            raise UserError(f"'{place}' is in the way of what is written beside '{file.name}': move one of them")
