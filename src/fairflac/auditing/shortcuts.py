"""Shortcuts that discovery finds in the images, and whether the audited model follows them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairflac.auditing.images import AuditedImages
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.resample import centre_crop
from fairflac.discovery.features import FeatureExtractor, extract, extractors, standardised
from fairflac.discovery.search import FEWEST, Candidate, search
from fairflac.discovery.witnesses import carried_over
from fairflac.metrics.evidence import Guessed, aligned_class, beside_guess, count_guesses
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import subsample

MOST = 10_000  # images that are searched, which takes about a minute


@dataclass(frozen=True)
class OfferedShortcut:
    """Groups that discovery believes in; no model is asked for them."""

    candidate: Candidate  # who found them, and what speaks for them; its testimony is of the searched images
    counts: np.ndarray  # (C, K) searched images by class and value
    value: np.ndarray  # (N,) of the audited images
    confidence: np.ndarray  # (N,)

    @property
    def suggested(self) -> np.ndarray:
        """(N,) the class that the value of each audited image speaks for."""
        suggested: np.ndarray = aligned_class(self.counts)[self.value]
        return suggested


@dataclass(frozen=True)
class FoundShortcut(OfferedShortcut):
    """And how the audited model does beside them."""

    guessed: Guessed


@dataclass(frozen=True)
class OfferedShortcuts:
    """What came of discovery."""

    searched: str  # which images, in words
    features: tuple[str, ...]  # which kinds were looked at
    shortcuts: tuple[OfferedShortcut, ...]  # the believed ones, in the order in which they were found
    left_out: str = ""  # why nothing was searched

    def beside(self, table: Predictions, classes: int) -> "FoundShortcuts":
        """Whether the model whose predictions these are follows them."""
        found = tuple(_measured(one, table, classes) for one in self.shortcuts)
        return FoundShortcuts(self.searched, self.features, found, self.left_out)


@dataclass(frozen=True)
class FoundShortcuts(OfferedShortcuts):
    """And what the audited model makes of it."""

    shortcuts: tuple[FoundShortcut, ...]


def offered_shortcuts(images: AuditedImages, root: Path, *, seed: int = 0, silent: bool = False) -> OfferedShortcuts:
    """In the training images, where there are some: test images are often chosen so that no shortcut works.

    What is found there is carried over to the audited images. `root`: of datasets, where the cache and the ImageNet
    weights are.
    """
    training, data = images.training, images.data
    among, kind = (data, "audited") if training is None else (training, "training")
    rows = subsample(len(among), MOST)
    y, which = among.y[rows], f"{len(rows):,} {kind} images"
    if left_out := _too_few(y, data.task.classes):
        return OfferedShortcuts(which, (), (), left_out)
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
            shortcuts.append(OfferedShortcut(one.best, count_guesses(y, testimony.value), *said))
    return OfferedShortcuts(which, tuple(searched), tuple(shortcuts))


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


def _measured(one: OfferedShortcut, table: Predictions, classes: int) -> FoundShortcut:
    guessed = beside_guess(replace(table, guess=one.value), aligned_class(one.counts), classes=classes, found=True)
    return FoundShortcut(one.candidate, one.counts, one.value, one.confidence, guessed)
