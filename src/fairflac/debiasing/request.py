"""What `debias` was called with, and all that follows from it alone."""

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from fairflac.data.own import list_own, own_sheet
from fairflac.data.own.groups import GUESS, check_groups, guess_columns, has_guesses
from fairflac.data.own.listing import Listing
from fairflac.data.own.sheet import USUAL as USUAL_COLUMNS
from fairflac.data.own.sheet import ColumnChoice, Sheet
from fairflac.debiasing.bias_model import (
    DISCOVER,
    BiasModel,
    bias_model,
    filled_columns,
    stage_one_settings,
    taught,
    write_labelled,
)
from fairflac.debiasing.budget import HELD_OUT, USUAL, TrainingSetup, batch_size, epochs
from fairflac.discovery.witnesses import NETWORKS
from fairflac.errors import UserError
from fairflac.nets.weights import sha256_of


@dataclass(frozen=True)
class GivenGroups:
    """Values that a person gave, for some images or for all."""

    table: Path
    column: str
    source: Path  # what the user called it

    @property
    def named(self) -> str:
        return (
            f"those of '{self.source}'" if self.column == GUESS else f"the labels of {self.column} in '{self.source}'"
        )

    def says(self, known: int, images: int) -> str:
        rest = "" if known == images else f", which {known:,} of {images:,} images have; the others were guessed"
        return f"The groups are {self.named}{rest}."


@dataclass(frozen=True)
class Request:
    """What `debias` was called with."""

    path: Path
    output: Path
    bias_model: str
    seed: int = 0
    budget: float | None = None  # seconds
    attribute: str | None = None
    attribute_from: Path | None = None
    changes: dict[str, Any] = field(default_factory=dict)  # of the recipe
    allow_outside: bool = False
    strict: bool = False
    choice: ColumnChoice = USUAL_COLUMNS
    seeds: int = 1  # that are trained, from `seed` on
    split_seed: int | None = None  # of the splits; None: the seed

    def each_seed(self) -> list["Request"]:
        """All on the same splits: what was searched for a shortcut, or chosen by, is tested on with no seed.

        One seed says so too, so that its runs are found when more are wanted."""
        return [replace(self, seed=self.seed + number, split_seed=self.seed) for number in range(self.seeds)]

    @property
    def dataset(self) -> str:
        return "folder" if self.path.is_dir() else "csv"

    def data_settings(self) -> dict[str, Any]:
        own: dict[str, Any] = {"path": str(self.path.expanduser().resolve()), "validation": HELD_OUT, "test": HELD_OUT}
        own |= {"strict": True} if self.strict else {}
        own |= {"allow_outside": True} if self.allow_outside and self.sheet else {}
        own |= {} if self.split_seed is None else {"split_seed": self.split_seed}
        return own | self.choice.settings()

    def key(self) -> str:
        """The same for the same request of the same images; a plan is made once, however fast the machine is later."""
        names = sorted(self.listing().names)
        changes = sorted(map(str, self.changes.items()))
        asked: list[Any] = [str(self.path.resolve()), self.budget, self.seed, changes, names]
        asked += [self.choice.settings()] if self.choice else []
        asked += [self.seeds] if self.seeds > 1 and self.budget is not None else []  # without one they change nothing
        if (given := self.given_groups()) is not None:
            asked += [given.column, sha256_of(given.table)]
        return sha256(json.dumps(asked).encode(errors="surrogateescape")).hexdigest()[:16]

    def listing(self) -> Listing:
        """Without attributes."""
        return list_own(self.path, (), self.allow_outside, self.choice)

    @cached_property
    def sheet(self) -> Sheet | None:
        """The table that has more columns; None: folders are classes."""
        return own_sheet(self.path, self.choice)

    @property
    def by_groups(self) -> bool:
        """A value is found, or given, for every image, where a bias model would learn to tell it."""
        if self.attribute is None:
            return self.attribute_from is not None or self._kind == DISCOVER
        return self._kind == DISCOVER and self.attribute_from is None and self._partly_labelled

    @property
    def _partly_labelled(self) -> bool:
        """The column of the attribute has gaps."""
        sheet, name = self.sheet, self.attribute
        known = [bool(value) for value in sheet.values(name)] if sheet and name in sheet.header else []
        return any(known) and not all(known)

    @property
    def _kind(self) -> str:
        """Who sets something of a bias model wants one."""
        own = any(key.partition(".")[0] == "bias_model" for key in self.changes)
        return NETWORKS[0] if own and self.bias_model == DISCOVER else self.bias_model

    def given_groups(self) -> GivenGroups | None:
        """Where values are given; None: they are searched for, or a bias model learns to tell them."""
        if not self.by_groups:
            return None
        if self.attribute is not None:
            assert self.sheet is not None  # it has the column
            known = [row for row in self.sheet.rows if row[self.attribute]]
            table = write_labelled(known, self.sheet, self.attribute, self.output, self.choice)
            return GivenGroups(table, self.attribute, self.path)
        return None if self.attribute_from is None else GivenGroups(self.attribute_from, GUESS, self.attribute_from)

    def check_groups(self) -> None:
        """The table of `discover`, as a person may have edited it, or a column; its images are those of the request."""
        source = self.attribute_from
        if self.attribute is None and source is not None:
            if not source.exists():
                raise UserError(
                    f"there is no '{source}': give the groups.csv of discover, or labels and the name of their "
                    "attribute"
                )
            if not has_guesses(source):
                raise UserError(
                    f"'{source}' has no column '{GUESS}', which the groups.csv of discover has: add it, or, if these "
                    "are labels, name the attribute too"
                )
        given = self.given_groups()
        if given is not None:
            columns = guess_columns(given.table) if given.column == GUESS else [given.column]
            for column in columns:
                check_groups(given.table, self.listing(), column, called=given.source)

    def known_columns(self) -> dict[str, Any]:
        """Setting of a table whose attribute has gaps: the other columns."""
        if self.attribute is None or not self.by_groups or self.sheet is None:
            return {}
        return {"columns": list(filled_columns(self.sheet, self.choice))}

    def stage_one(self, size: TrainingSetup) -> BiasModel:
        """What was asked for, where it is not groups."""
        if self.attribute is None:
            return bias_model(self._kind, size)
        outside, choice = self.allow_outside, self.choice
        found = taught(
            self.path, self.attribute, self.attribute_from, self.output, allow_outside=outside, choice=choice
        )
        own = {} if self.split_seed is None else stage_one_settings({"split_seed": self.split_seed})
        return replace(found, settings=found.settings | own)

    def provisional(self) -> TrainingSetup:
        """What would be trained if time did not matter; nothing is measured for it."""
        images = training_images(self.listing())
        batch = batch_size(images)
        return TrainingSetup(*USUAL, epochs(images), batch, max(images // batch, 1), 0.0)


def training_images(listing: Listing) -> int:
    """About so many: broken files and copies are not known yet."""
    splits = listing.splits or ()
    own = len(listing.names) if not splits else sum(split == "train" for split in splits)
    cut = sum(name not in splits for name in ("validation", "test"))
    return max(round(own * (1 - cut * HELD_OUT)), 1)
