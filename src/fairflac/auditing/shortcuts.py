"""Shortcuts that discovery finds in the images, and whether the audited model follows them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairflac.auditing.images import AuditedImages
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.resample import centre_crop
from fairflac.discovery.features import FeatureExtractor, extract, extractors, standardised
from fairflac.discovery.search import FEWEST, Candidate, search
from fairflac.discovery.witnesses import Testimony, carried_over
from fairflac.metrics.evidence import Guessed, aligned_class, beside_guess, count_guesses
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import subsample

MOST = 10_000  # images that are searched, which takes about a minute


@dataclass(frozen=True)
class FoundShortcut:
    """Groups that discovery believes in, and how the audited model does beside them."""

    candidate: Candidate  # who found them, and what speaks for them; its testimony is of the searched images
    counts: np.ndarray  # (C, K) searched images by class and value
    value: np.ndarray  # (N,) of the audited images
    confidence: np.ndarray  # (N,)
    guessed: Guessed

    @property
    def suggested(self) -> np.ndarray:
        """(N,) the class that the value of each audited image speaks for."""
        suggested: np.ndarray = aligned_class(self.counts)[self.value]
        return suggested


@dataclass(frozen=True)
class FoundShortcuts:
    """What came of discovery."""

    searched: str  # which images, in words
    features: tuple[str, ...]  # which kinds were looked at
    shortcuts: tuple[FoundShortcut, ...]  # the believed ones, in the order in which they were found
    left_out: str = ""  # why nothing was searched


def find_shortcuts(
    table: Predictions, images: AuditedImages, root: Path, *, seed: int = 0, silent: bool = False
) -> FoundShortcuts:
    """In the training images, where there are some: test images are often chosen so that no shortcut works.

    What is found there is carried over to the audited images. `root`: of datasets, where the cache and the ImageNet
    weights are.
    """
    training, data = images.training, images.data
    among, kind = (data, "audited") if training is None else (training, "training")
    rows = subsample(len(among), MOST)
    y, which = among.y[rows], f"{len(rows):,} {kind} images"
    if left_out := _too_few(y, data.task.classes):
        return FoundShortcuts(which, (), (), left_out)
    others = None if training is None else training.take(rows)
    searched, audited = {}, {}
    for extractor in extractors(root):
        raw = _features(extractor, data, root / "cache", silent)
        like = raw[rows] if others is None else _features(extractor, others, root / "cache", silent)
        searched[extractor.says], audited[extractor.says] = standardised(like), standardised(raw, like)
    shortcuts = []
    for one in search(searched, y, seed=seed, silent=silent):
        if one.best.belief.believed:
            kind, testimony = one.best.features, one.best.testimony
            said = carried_over(searched[kind], testimony.value, audited[kind])
            if others is None:  # no image is guessed by a model that was trained on it
                said.value[rows], said.confidence[rows] = testimony
            shortcuts.append(_measured(one.best, y, table, said, len(data.task.classes)))
    return FoundShortcuts(which, tuple(searched), tuple(shortcuts))


def _too_few(y: np.ndarray, classes: tuple[str, ...]) -> str:
    """Said of the rarest class, where it is too rare."""
    counts = np.bincount(y, minlength=len(classes))
    rarest = int(counts.argmin())
    if counts[rarest] >= FEWEST:
        return ""
    return (
        f"Discovery was left out: it needs {FEWEST} images of each class, and '{classes[rarest]}' has "
        f"{counts[rarest]} among the {len(y):,} that it would search."
    )


def _features(extractor: FeatureExtractor, data: BiasedDataset, cache: Path, silent: bool) -> np.ndarray:
    """Of what the audited model sees of the images: what is cut off is no shortcut for it."""
    return extract(extractor, centre_crop(data.images, data.task.image_size), cache, silent=silent)


def _measured(one: Candidate, y: np.ndarray, table: Predictions, said: Testimony, classes: int) -> FoundShortcut:
    """`y`: of the searched images; `said`: of the audited ones, whose predictions are in the table."""
    counts = count_guesses(y, one.testimony.value)
    guessed = beside_guess(replace(table, guess=said.value), aligned_class(counts), classes=classes, found=True)
    return FoundShortcut(one, counts, *said, guessed)
