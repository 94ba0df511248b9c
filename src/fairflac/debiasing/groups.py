"""The groups that a model is trained against: found without a label, or given in a table that a person looked at."""

from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fairflac.data.own.groups import CONFIDENCE, GIVEN, GUESS, guessed_values, write_groups
from fairflac.debiasing.budget import HELD_OUT
from fairflac.debiasing.plan import Request
from fairflac.discovering.page import verdict, write
from fairflac.discovering.pipeline import PAGE, DiscoverRequest, SearchedImages, search_images
from fairflac.discovery.search import AUTO, FEWEST
from fairflac.discovery.witnesses import Testimony, filled, told_apart
from fairflac.reporting.typical import value_name


@dataclass(frozen=True)
class TrainingGroups:
    """A value for every image, or why there are none."""

    path: str | None  # of the table; None: no shortcut was found
    says: str  # a sentence
    page: str | None = None  # that shows them; None: they were given

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def training_groups(request: Request, data: Path, folder: Path) -> TrainingGroups:
    """Searched for, or read from the table that the user gave; images without a value get one from the others.

    `data`: of datasets, where the cache and the ImageNet weights are; `folder`: for the table, whose name goes by its
    content, so that other groups are another training.
    """
    asked = DiscoverRequest(
        path=request.path,
        output=request.output,
        witness=AUTO,
        features=None,
        test=HELD_OUT,
        seed=request.seed,
        allow_outside=request.allow_outside,
        choice=request.choice,
        strict=request.strict,
    )
    images = SearchedImages.open(asked, data)
    labels = request.given_groups()
    if labels is not None:
        every = request.listing()  # also images that cannot be read, of which the table may have a line
        values, names = guessed_values(labels.table, every, labels.column)
        by_name = dict(zip(every.names, values.tolist(), strict=True))
        value = np.array([by_name[name] for name in images.read.listing.names], dtype=np.int64)
        known = Testimony(value, np.ones(len(value)))
        path = _written(images, _telling_kind(images, value), known, names, folder, given=value >= 0)
        return TrainingGroups(str(path), labels.says(int((value >= 0).sum()), len(value)))
    fewest = int(np.bincount(images.y[images.rows], minlength=len(images.classes)).min())
    if fewest < FEWEST:
        return TrainingGroups(
            None, f"No shortcut was looked for: a class has {fewest} images to learn from, and {FEWEST} are needed."
        )
    found = search_images(images, asked)
    write(found)
    says = verdict(found)[0]
    says = f"{says} {PAGE} shows the images."
    if not found.shortcuts:
        return TrainingGroups(None, says, str(found.page))
    best = found.shortcuts[0]
    value, confidence = np.full(len(images.y), -1), np.ones(len(images.y))
    value[images.rows], confidence[images.rows] = best.testimony.value, best.testimony.confidence
    names = [value_name(number) for number in range(int(value.max()) + 1)]
    known = Testimony(value, confidence)
    path = _written(images, best.features, known, names, folder, given=np.zeros(len(value), dtype=bool))
    return TrainingGroups(str(path), says, str(found.page))


def _telling_kind(images: SearchedImages, value: np.ndarray) -> str:
    """The features that tell given values best, of those of images that are not for tests; of equals the first."""
    rows = images.rows[value[images.rows] >= 0]
    place = np.searchsorted(images.rows, rows)
    features = images.features(images.rows)
    return max(features, key=lambda kind: told_apart(features[kind][place], images.y[rows], value[rows]))


def _all_features(images: SearchedImages, kind: str) -> np.ndarray:
    """(M, D). Those that were searched are there already; what is left is the test split."""
    rest = np.setdiff1d(np.arange(len(images.y)), images.rows)
    searched = images.features(images.rows)[kind]
    features = np.empty((len(images.y), searched.shape[1]), np.float32)
    features[images.rows] = searched
    if len(rest):
        features[rest] = images.features(rest)[kind]
    return features


def _written(
    images: SearchedImages, kind: str, known: Testimony, names: list[str], folder: Path, given: np.ndarray
) -> Path:
    """Of all images, those of the test split too, which training does not see."""
    every = filled(_all_features(images, kind), images.y, known.value, known.confidence)
    columns = {
        GUESS: [names[value] for value in every.value.tolist()],
        CONFIDENCE: [f"{value:.3f}" for value in every.confidence.tolist()],
        GIVEN: ["yes" if one else "no" for one in given.tolist()],
    }
    content = "\0".join([*images.read.listing.names, *columns[GUESS], *columns[GIVEN]])
    path = folder / f"groups-{sha256(content.encode(errors='surrogateescape')).hexdigest()[:8]}.csv"
    if not path.exists():
        write_groups(path, images.read.listing, columns)
    return path
