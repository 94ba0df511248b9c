"""The groups that a model is trained against: found without a label, or given in a table that a person looked at."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairflac.data.own.groups import CONFIDENCE, GIVEN, GUESS, guess_columns, guessed_values, joined, write_groups
from fairflac.data.own.listing import Listing
from fairflac.debiasing.budget import HELD_OUT
from fairflac.debiasing.request import Request
from fairflac.discovering.page import verdict, write
from fairflac.discovering.pipeline import PAGE, DiscoverRequest, SearchedImages, search_images
from fairflac.discovery.search import AUTO, FEWEST, Candidate
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
        columns = guess_columns(labels.table) if labels.column == GUESS else [labels.column]
        parts = [_given(images, every, labels.table, column) for column in columns]
        known = np.all([part.known.value >= 0 for part in parts], 0)
        path = _written(images, parts, folder, given=known)
        return TrainingGroups(str(path), labels.says(int(known.sum()), len(known)))
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
    parts = [_searched(images, one) for one in found.shortcuts]
    path = _written(images, parts, folder, given=np.zeros(len(images.y), dtype=bool))
    return TrainingGroups(str(path), says, str(found.page))


class _Attribute(NamedTuple):
    """What is known of one, and which features tell the rest."""

    known: Testimony  # of all M images; -1 where nobody says
    names: list[str]
    features: str


def _given(images: SearchedImages, every: Listing, table: Path, column: str) -> _Attribute:
    values, names = guessed_values(table, every, column)
    by_name = dict(zip(every.names, values.tolist(), strict=True))
    value = np.array([by_name[name] for name in images.read.listing.names], dtype=np.int64)
    return _Attribute(Testimony(value, np.ones(len(value))), names, _telling_kind(images, value))


def _searched(images: SearchedImages, shortcut: Candidate) -> _Attribute:
    value, confidence = np.full(len(images.y), -1), np.ones(len(images.y))
    value[images.rows], confidence[images.rows] = shortcut.testimony
    names = [value_name(number) for number in range(int(value.max()) + 1)]
    return _Attribute(Testimony(value, confidence), names, shortcut.features)


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


def _written(images: SearchedImages, parts: Sequence[_Attribute], folder: Path, given: np.ndarray) -> Path:
    """Of all images, those of the test split too, which training does not see; several attributes as one."""
    every = [filled(_all_features(images, part.features), images.y, *part.known) for part in parts]
    value, names = joined([one.value for one in every], [part.names for part in parts])
    confidence = np.prod([one.confidence for one in every], 0)  # that all are right
    columns = {
        GUESS: [names[number] for number in value.tolist()],
        CONFIDENCE: [f"{number:.3f}" for number in confidence.tolist()],
        GIVEN: ["yes" if one else "no" for one in given.tolist()],
    }
    content = "\0".join([*images.read.listing.names, *columns[GUESS], *columns[GIVEN]])
    path = folder / f"groups-{sha256(content.encode(errors='surrogateescape')).hexdigest()[:8]}.csv"
    if not path.exists():
        write_groups(path, images.read.listing, columns)
    return path
