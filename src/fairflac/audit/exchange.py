"""Does a model follow a cue? Found by experiment, and without labels.

Each image gets a cue from one that the model takes for another class, and for comparison the same cue from one that it
takes for the same class. An exchange damages an image, and a damaged image may be named anything. So what counts is how
much more often the model names the other class with a cue from there than with a cue from its own. Images that are
merely hard make no difference between the two; that is what tells a shortcut from difficulty.
"""

from typing import NamedTuple

import numpy as np

from fairflac.audit.cues import CUES, Exchange
from fairflac.data.boxes import centre_offset
from fairflac.metrics.differences import paired_difference, share
from fairflac.metrics.measure import Measured
from fairflac.progress import meter
from fairflac.trained.model import BATCH, Trained

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


def follow(model: Trained, images: np.ndarray, prediction: np.ndarray, *, silent: bool = False) -> list[Followed]:
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


def _seen(images: np.ndarray, rows: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Only what the network sees: a border that is cut off is none."""
    top, left = centre_offset((images.shape[1], images.shape[2]), size)
    return np.asarray(images[rows, top : top + size[0], left : left + size[1]])


def _named(model: Trained, exchange: Exchange, own: np.ndarray, given: np.ndarray) -> np.ndarray:
    parts = [np.s_[start : start + BATCH] for start in range(0, len(own), BATCH)]
    return np.concatenate([model.logits(exchange(own[part], given[part])).argmax(1) for part in parts])
