"""A folder or table of images → the shortcuts that their classes lean on, as guessed groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairflac.data.own import own_images
from fairflac.data.own.groups import CONFIDENCE, GUESS, numbered, write_groups
from fairflac.data.own.listing import Listing, ReadListing, checked_classes, read_listing, split_places
from fairflac.data.own.sheet import USUAL, ColumnChoice
from fairflac.data.pixels.decode import Fit
from fairflac.data.pixels.resample import centre_crop
from fairflac.data.pixels.stored import Pixels, rows_of
from fairflac.discovery.belief import check_order
from fairflac.discovery.features import (
    FeatureExtractor,
    extract,
    extractors,
    read_features,
    standardised,
)
from fairflac.discovery.search import FEWEST, Candidate, SearchRound, check_witness, search
from fairflac.discovery.telling import SEARCHED, Part, ToldCue, telling_cue, telling_parts
from fairflac.errors import UserError
from fairflac.inference.model import Classifier
from fairflac.metrics.evidence import count_guesses, usual_values
from fairflac.nets.frozen import SIDE
from fairflac.reporting.typical import GuessedGroups, value_name
from fairflac.system.files import check_folder

GROUPS, PAGE = "groups.csv", "discovery.html"


class Told(NamedTuple):
    """What tells the values of a guess apart."""

    cue: ToldCue | None
    parts: dict[int, Part] | None  # by value; None where features were given, and nothing can be covered


@dataclass(frozen=True)
class Discovery:
    """What was found in the images that are trained on or validated with; those of the test split are not touched."""

    listing: Listing  # the N images
    classes: tuple[str, ...]
    y: np.ndarray  # (N,)
    images: Pixels  # (N, H, W, 3) uint8
    features: tuple[str, ...]  # which kinds were looked at
    rounds: tuple[SearchRound, ...]
    groups: Path  # the table
    page: Path
    told: tuple[Told, ...] = ()  # of each that is shown

    @property
    def shortcuts(self) -> list[Candidate]:
        """The believed ones, in the order in which they were found."""
        return [one.best for one in self.rounds if one.best.belief.believed]

    @property
    def shown(self) -> list[Candidate]:
        """What the table and the page have: the shortcuts, or the best guess where none was found."""
        return self.shortcuts or [self.rounds[0].best]

    def guessed(self, candidate: Candidate) -> GuessedGroups:
        return GuessedGroups(
            images=self.images,
            names=np.array(self.listing.names),
            classes=self.classes,
            y=self.y,
            value=candidate.testimony.value,
            confidence=candidate.testimony.confidence,
            usual=usual_values(count_guesses(self.y, candidate.testimony.value)),
        )


@dataclass(frozen=True)
class DiscoverRequest:
    """What `discover` was called with."""

    path: Path
    output: Path
    witness: str
    features: Path | Classifier | None  # a .npy file, a network, or whatever is there
    test: float = 0.2  # the share of the images that is not looked at, where there is no test split
    seed: int = 0
    allow_outside: bool = False
    strict: bool = False
    silent: bool = False
    choice: ColumnChoice = USUAL


def discover(request: DiscoverRequest, root: Path) -> Discovery:
    """`root`: of datasets, where the cache and the ImageNet weights are."""
    return search_images(SearchedImages.open(request, root), request)


def search_images(images: "SearchedImages", request: DiscoverRequest) -> Discovery:
    """In images that are read already."""
    rows, y = images.rows, images.y[images.rows]
    images.check_counts()
    features = images.features(rows)
    pixels = images.pixels
    rounds = search(features, y, request.witness, images=pixels, seed=request.seed, silent=request.silent)
    found = Discovery(
        listing=images.read.listing.take(rows.tolist()),
        classes=images.classes,
        y=y,
        images=pixels,
        features=tuple(features),
        rounds=tuple(rounds),
        groups=request.output / GROUPS,
        page=request.output / PAGE,
    )
    found = replace(found, told=tuple(images.told(found.guessed(one), one.features) for one in found.shown))
    write_groups(found.groups, found.listing, _columns(found))
    return found


@dataclass(frozen=True)
class SearchedImages:
    """The images of a request, as they are searched."""

    path: Path
    read: ReadListing  # M images
    classes: tuple[str, ...]
    y: np.ndarray  # (M,)
    rows: np.ndarray  # (N,) places of those that are trained on or validated with
    source: "_Source"
    cache: Path
    silent: bool

    @classmethod
    def open(cls, request: DiscoverRequest, root: Path) -> "SearchedImages":
        """`root`: of datasets, where the cache and the ImageNet weights are."""
        check_folder(request.output)
        check_witness(request.witness)
        path, strict = request.path, request.strict
        dataset = own_images(
            path,
            seed=request.seed,
            columns=(),
            test=request.test,
            allow_outside=request.allow_outside,
            strict=strict,
            choice=request.choice,
        )
        listing = dataset.listing().distinct()
        classes = checked_classes(listing)
        source = _source(request.features, len(listing.names), root)
        read = read_listing(listing, source.decoded_size, root / "cache", fit=source.fit, strict=strict)
        y = np.searchsorted(classes, np.array(read.listing.labels))
        parts = split_places(read.listing, dataset.reading(root), read.images.digests, y)
        rows = np.sort(np.concatenate([parts["train"], parts["validation"]]))
        return cls(path, read, tuple(classes), y, rows, source, root / "cache", request.silent)

    @cached_property
    def pixels(self) -> Pixels:
        """(N, H, W, 3) uint8."""
        return rows_of(self.read.images.pixels, self.rows)

    def features(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """By kind (len(rows), D), standardised as those of `self.rows` are."""
        asked = self._own if rows is self.rows else self._seen(rows, rows_of(self.read.images.pixels, rows))
        return {name: standardised(features, self._own[name]) for name, features in asked.items()}

    @cached_property
    def _own(self) -> dict[str, np.ndarray]:
        """Those of `self.rows` as they are: to find them in the cache again, every image would be read again."""
        return self._seen(self.rows, self.pixels)

    def _seen(self, rows: np.ndarray, pixels: Pixels) -> dict[str, np.ndarray]:
        return self.source.rows(self.read, rows, pixels, self.cache, silent=self.silent)

    def told(self, groups: GuessedGroups, kind: str) -> Told:
        """Of a guess that was made of features of that kind; the images of the groups are those of `self.rows`."""
        cue = telling_cue(self.pixels, groups.y, groups.value == groups.usual[groups.y])
        extractor = next((one for one in self.source.extractors if one.says == kind), None)
        if extractor is None or len(np.unique(groups.value)) == 1:
            return Told(cue, None)
        features = self._own[kind]
        each = max(SEARCHED // (2 * len(groups.classes)), 1)
        shown = [row for one in groups.typical() for side in (one.usual, one.other) for row in side[:each]]
        return Told(cue, telling_parts(extractor, self.pixels, features, groups.value, shown[:SEARCHED]))

    def check_counts(self) -> None:
        counts = np.bincount(self.y[self.rows], minlength=len(self.classes))
        for label, count in zip(self.classes, counts.tolist(), strict=True):
            if count < FEWEST:
                raise UserError(
                    f"class '{label}' in '{self.path}' has {count} image(s) to learn from, without those to test on: "
                    f"discovery needs {FEWEST} of each class"
                )


@dataclass(frozen=True)
class _Source:
    """Where features come from."""

    decoded_size: tuple[int, int]  # that image files are read at
    fit: Fit
    extractors: tuple[FeatureExtractor, ...] = ()
    given: Mapping[str, np.ndarray] = field(default_factory=dict)  # by name (M, D), of all images that are listed

    @property
    def kinds(self) -> list[str]:
        """The best first."""
        return [*(one.says for one in self.extractors), *self.given]

    def rows(
        self, read: ReadListing, rows: np.ndarray, pixels: Pixels, cache: Path, *, silent: bool
    ) -> dict[str, np.ndarray]:
        """By kind (N, D), of some of the images that could be read; `pixels`: theirs."""
        found = {one.says: extract(one, pixels, cache, silent=silent) for one in self.extractors}
        for name, table in self.given.items():
            found[name] = table[read.images.kept][rows]
            check_order(found[name], np.unique(np.array(read.listing.labels)[rows], return_inverse=True)[1], name)
        return found


def _source(features: Path | Classifier | None, count: int, root: Path) -> _Source:
    """As the user says; else whatever there is."""
    if isinstance(features, Path):
        return _Source((SIDE, SIDE), "cover", given={features.name: read_features(features, count)})
    if isinstance(features, Classifier):
        return _Source(features.decoded_size, features.fit, (_of_network(features),))
    return _Source((SIDE, SIDE), "cover", extractors(root))


def _of_network(model: Classifier) -> FeatureExtractor:
    """Its answers to two images of noise stand for its weights, which not every kind of file shows."""
    features = model.features or model.logits

    def seen(images: np.ndarray) -> np.ndarray:
        return features(np.ascontiguousarray(centre_crop(images, model.image_size)))

    probe = np.random.default_rng(0).integers(0, 256, (2, *model.image_size, 3), dtype=np.uint8)
    return FeatureExtractor(model.source, model.decoded_size, sha256(seen(probe).tobytes()).hexdigest(), seen)


def _columns(discovery: Discovery) -> dict[str, list[str]]:
    """guess, confidence, guess2, confidence2, …"""
    columns = {}
    for number, one in enumerate(discovery.shown, start=1):
        columns[numbered(GUESS, number)] = [value_name(value) for value in one.testimony.value.tolist()]
        columns[numbered(CONFIDENCE, number)] = [f"{value:.3f}" for value in one.testimony.confidence.tolist()]
    return columns
