"""What tells the values of a guess apart, so that a person can name it: a cue that can be measured, and a region."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from fairflac.data.pixels.stored import Pixels
from fairflac.discovery.features import FeatureExtractor
from fairflac.discovery.witnesses import ORDINARY
from fairflac.metrics.representation import subsample

MEASURED = 1000  # images of which cues are measured, at most
CLEAR_CUE = 0.8  # area under the curve, from which on a cue is worth naming: 0.5 is chance
GRID = 4  # parts of an image along a side
CONCENTRATED = 0.3  # of all doubts that covering parts raises: 1 / 16 is what every part has where none tells more
SEARCHED = 48  # images whose parts are covered, at most: 16 times each through the network


class PixelCue(NamedTuple):
    """A number of each image."""

    name: str
    measure: Callable[[np.ndarray], np.ndarray]  # (N, H, W, 3) floats from 0 to 1 → (N,)


def _grey(images: np.ndarray) -> np.ndarray:
    return images.mean(3)  # type: ignore[no-any-return]


def _detail(images: np.ndarray) -> np.ndarray:
    """How much neighbouring pixels differ, beside how much all do: low for a blurred image."""
    grey = _grey(images)
    steps = np.abs(np.diff(grey, axis=1)).mean((1, 2)) + np.abs(np.diff(grey, axis=2)).mean((1, 2))
    return steps / np.maximum(grey.std((1, 2)), 1e-6)  # type: ignore[no-any-return]


def _border(images: np.ndarray) -> np.ndarray:
    """The outermost twentieth on each side, against the rest."""
    height, width = images.shape[1:3]
    edge = np.ones((height, width), dtype=bool)
    edge[max(height // 20, 1) : -max(height // 20, 1), max(width // 20, 1) : -max(width // 20, 1)] = False
    grey = _grey(images)
    return grey[:, edge].mean(1) - grey[:, ~edge].mean(1)  # type: ignore[no-any-return]


CUES = (
    PixelCue("brightness", lambda images: _grey(images).mean((1, 2))),
    PixelCue("contrast", lambda images: _grey(images).std((1, 2))),
    PixelCue("red against blue", lambda images: (images[..., 0] - images[..., 2]).mean((1, 2))),
    PixelCue("green against red and blue", lambda images: (images[..., 1] - images[..., ::2].mean(3)).mean((1, 2))),
    PixelCue("strength of the colours", lambda images: (images.max(3) - images.min(3)).mean((1, 2))),
    PixelCue("sharpness", _detail),
    PixelCue("brightness of the border", _border),
)


class ToldCue(NamedTuple):
    name: str
    area: float  # under the curve: how often an image of another value has the higher number, or the lower one


def telling_cue(images: Pixels, y: np.ndarray, usual: np.ndarray) -> ToldCue | None:
    """(N, H, W, 3) uint8, (N,) classes, (N,) whether an image has the usual value of its class → the cue whose number
    sorts the two kinds best, the mean over classes; None where every image of every class is of one kind.

    In one class the other kind may have the higher number and in another the lower one.
    """
    rows = subsample(len(y), MEASURED)
    shown, y, usual = np.asarray(images[rows]).astype(np.float32) / 255, y[rows], usual[rows]
    classes = [label for label in np.unique(y).tolist() if len(np.unique(usual[y == label])) == 2]
    if not classes:
        return None
    told = []
    for cue in CUES:
        numbers = cue.measure(shown)
        areas = [_area(numbers[(y == one) & usual], numbers[(y == one) & ~usual]) for one in classes]
        told.append(ToldCue(cue.name, float(np.mean([max(area, 1 - area) for area in areas]))))
    return max(told, key=lambda one: one.area)


def _area(some: np.ndarray, others: np.ndarray) -> float:
    """Mann and Whitney's U as a share: how often one of the others is above one of some, ties counting half."""
    from scipy.stats import rankdata  # takes a second to import

    ranks = rankdata(np.concatenate([some, others]))[len(some) :].sum()
    return float((ranks - len(others) * (len(others) + 1) / 2) / (len(some) * len(others)))


class Part(NamedTuple):
    """Of an image, below GRID each."""

    line: int
    column: int


def telling_parts(
    extractor: FeatureExtractor,
    images: Pixels,
    features: np.ndarray,
    value: np.ndarray,
    rows: Sequence[int],
) -> dict[int, Part]:
    """(N, H, W, 3) uint8, their (N, D) features and guessed values → by value the part of an image that the guess hangs
    on; a value that hangs on no single part is left out.

    Each of the GRID x GRID parts is covered with the mean colour of its image in turn (occlusion: Zeiler and Fergus,
    ECCV 2014), in the images of `rows`. How much a linear model of the guess then doubts it is the mean over images;
    the part that has CONCENTRATED of all doubts is the one.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to import

    mean, spread = features.mean(0), np.maximum(features.std(0), 1e-12)
    model = LogisticRegression(C=ORDINARY, max_iter=1000).fit((features - mean) / spread, value)

    def surety(seen: np.ndarray, of: int) -> np.ndarray:
        scores = model.decision_function((seen - mean) / spread).astype(np.float64)
        if scores.ndim == 1:  # of two values one number
            scores = np.stack([np.zeros_like(scores), scores], 1)
        # predict_log_proba has the logarithm of 0 where a covered image is far from all others
        shares: np.ndarray = log_softmax(scores, 1)[:, model.classes_ == of][:, 0]
        return shares

    found = {}
    for one in np.unique(value[list(rows)]).tolist():
        asked = [row for row in rows if value[row] == one]
        doubts = np.mean(
            [surety(features[[row]], one) - surety(extractor.features(_covered(images[row])), one) for row in asked], 0
        ).clip(min=0)
        if doubts.max() >= CONCENTRATED * max(doubts.sum(), 1e-9):
            found[one] = Part(*divmod(int(doubts.argmax()), GRID))
    return found


def _covered(image: np.ndarray) -> np.ndarray:
    """(H, W, 3) → (GRID x GRID, H, W, 3), each without another part."""
    lines, columns = (np.linspace(0, side, GRID + 1).round().astype(int) for side in image.shape[:2])
    parts = np.repeat(image[None], GRID * GRID, axis=0)
    colour = image.mean((0, 1)).astype(image.dtype)
    for place, part in enumerate(parts):
        line, column = divmod(place, GRID)
        part[lines[line] : lines[line + 1], columns[column] : columns[column + 1]] = colour
    return parts
