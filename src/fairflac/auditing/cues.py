"""Simple cues that a classifier may lean on, and how each is exchanged between images.

They are chosen to say little about what is in a picture: a model that changes its mind with one of them looks at
something else than the thing. All take (B, H, W, 3) uint8 and return such: the first images with the cue of the second.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from fairflac.data.pixels.resample import centre_crop
from fairflac.data.pixels.stored import Pixels
from fairflac.inference.model import BATCH, Classifier
from fairflac.metrics.intervals import Measured, paired_difference, share
from fairflac.system.progress import meter

BORDER = 8  # it is as wide as one part of so many of a side
CORNER = 4
FINE = 1.0  # pixels, the deviation of the blur that takes fine detail away

Exchange = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Cue(NamedTuple):
    meaning: str
    exchange: Exchange


def colours(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Each value of a channel becomes the one of equal rank in the other image: shapes stay, colours change."""
    changed = np.empty_like(own)
    for image, channel in np.ndindex(len(own), 3):
        values, wanted = own[image, :, :, channel], np.sort(other[image, :, :, channel], axis=None)
        counts = np.bincount(values.ravel(), minlength=256)
        middle = counts.cumsum() - (counts + 1) // 2  # the rank in the middle of all pixels of that value
        changed[image, :, :, channel] = wanted[middle.clip(max=wanted.size - 1)][values]
    return changed


def brightness(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Mean and deviation of the grey values; hues stay."""
    (mean, spread), (new_mean, new_spread) = _greys(own), _greys(other)
    return _bytes((own - mean) * (new_spread / spread) + new_mean)


def border(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    height, width = own.shape[1:3]
    rows, columns = max(1, round(height / BORDER)), max(1, round(width / BORDER))
    inside = np.zeros((height, width), dtype=bool)
    inside[rows:-rows, columns:-columns] = True
    return np.where(inside[:, :, None], own, other)


def corner(own: np.ndarray, other: np.ndarray, *, bottom: bool, right: bool) -> np.ndarray:
    height, width = own.shape[1:3]
    rows, columns = height // CORNER, width // CORNER
    part = np.s_[:, height - rows :] if bottom else np.s_[:, :rows]
    part += np.s_[width - columns :,] if right else np.s_[:columns,]
    changed = own.copy()
    changed[part] = other[part]
    return changed


def detail(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How strong the finest detail is (noise, sharpness), but not what it shows."""
    coarse, fine = _parted(own)
    return _bytes(coarse + fine * (_strength(_parted(other)[1]) / _strength(fine)))


CUES: dict[str, Cue] = {
    "colour": Cue("which colours there are, and how much of each", colours),
    "brightness": Cue("how bright the image is, and how strong its contrast", brightness),
    "border": Cue("what is in the outer eighth of each side", border),
    "fine detail": Cue("how strong it is: noise, sharpness", detail),
    **{
        f"{high} {wide} corner": Cue(
            "what is in it, to a quarter of each side",
            partial(corner, bottom=high == "bottom", right=wide == "right"),
        )
        for high in ("top", "bottom")
        for wide in ("left", "right")
    },
}


def _greys(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    grey = images.mean(3, keepdims=True, dtype=np.float32)
    return grey.mean((1, 2), keepdims=True), grey.std((1, 2), keepdims=True) + 1  # of 255; an even image has none


def _parted(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blurred, and what the blur took away."""
    coarse = gaussian_filter(images.astype(np.float32), FINE, axes=(1, 2))
    return coarse, images - coarse


def _strength(fine: np.ndarray) -> np.ndarray:
    deviation: np.ndarray = fine.std((1, 2, 3), keepdims=True) + 1  # of 255, as above
    return deviation


def _bytes(values: np.ndarray) -> np.ndarray:
    return values.round().clip(0, 255).astype(np.uint8)


PROBES = 500  # images at most: half an interval is then 4 points at most
SHOWN = 6  # examples of a cue that is followed


class Example(NamedTuple):
    """An image whose name changed with the cue, and did not with a cue from its own class."""

    row: int  # of the image
    giver: int  # of the one that gave the cue
    changed: np.ndarray  # (H, W, 3), what the model then saw


class Followed(NamedTuple):
    """Shares of the images whose cue was exchanged."""

    cue: str
    follows: Measured  # named as the class that the cue came from
    anyway: Measured  # named so as well with a cue from their own class
    difference: Measured  # the first minus the second: 0 without a lean, 1 for a model that reads nothing else
    examples: tuple[Example, ...]


class Pairing(NamedTuple):
    """(M,) rows of images, and of two more for each: one that the model takes for another class, one for the same."""

    rows: np.ndarray
    others: np.ndarray
    alike: np.ndarray


def follow(model: Classifier, images: Pixels, prediction: np.ndarray, *, silent: bool = False) -> list[Followed]:
    """One line per cue, the most followed first; none where the model names one class alone."""
    pairing = paired(prediction)
    if not len(pairing.rows):
        return []
    own, others, alike = (_seen(images, rows, model.image_size) for rows in pairing)
    said = prediction[pairing.others]
    found = []
    with meter("exchanging", len(CUES), silent=silent) as bar:
        for name, cue in CUES.items():
            bar.note(name)
            follows, anyway = (_named(model, cue.exchange, own, given) == said for given in (others, alike))
            moved = np.flatnonzero(follows & ~anyway)[:SHOWN]
            seen = zip(pairing.rows[moved], pairing.others[moved], cue.exchange(own[moved], others[moved]), strict=True)
            examples = tuple(Example(int(row), int(giver), changed) for row, giver, changed in seen)
            measured = share(follows), share(anyway), paired_difference(follows, anyway)
            found.append(Followed(name, *measured, examples))
            bar.advance()
    return sorted(found, key=lambda one: -one.difference.value)


def paired(prediction: np.ndarray, most: int = PROBES, seed: int = 0) -> Pairing:
    """Drawn at random; all classes that are named elsewhere are as likely to give the cue."""
    rng = np.random.default_rng(seed)
    members = {int(label): np.flatnonzero(prediction == label) for label in np.unique(prediction)}
    able = [row for several in members.values() if len(several) > 1 for row in several]
    rows = rng.permutation(np.array(able if len(members) > 1 else [], dtype=np.int64))[:most]
    others, alike = np.empty_like(rows), np.empty_like(rows)
    for place, row in enumerate(rows):
        own = int(prediction[row])
        others[place] = rng.choice(members[int(rng.choice([label for label in members if label != own]))])
        alike[place] = rng.choice(members[own][members[own] != row])
    return Pairing(rows, others, alike)


def _seen(images: Pixels, rows: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Only what the network sees: a border that is cut off is none."""
    return np.asarray(centre_crop(images, size)[rows])


def _named(model: Classifier, exchange: Exchange, own: np.ndarray, given: np.ndarray) -> np.ndarray:
    parts = [np.s_[start : start + BATCH] for start in range(0, len(own), BATCH)]
    return np.concatenate([model.logits(exchange(own[part], given[part])).argmax(1) for part in parts])
