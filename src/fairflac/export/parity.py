"""Does a file answer as the run does that it was made from?"""

from typing import NamedTuple

import numpy as np
from PIL import Image

from fairflac.errors import UserError
from fairflac.gallery import Gallery
from fairflac.runs import Run
from fairflac.trained.model import Trained

SEEN, RANDOM = 24, 8  # test images of the run, and noise
BATCHES = (1, 8)
TOLERANCE = 1e-4  # of the largest logit, or of 1 if all are smaller; sums in another order differ by 1e-6


class Parity(NamedTuple):
    images: int
    largest_difference: float  # of a logit, as a share of the largest
    tolerance: float


def check(original: Trained, exported: Trained, run: Run) -> Parity:
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


def _in_batches(model: Trained, images: np.ndarray, size: int) -> np.ndarray:
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
