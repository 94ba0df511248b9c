"""What the user asked for, the bias model that goes with it, and the plan: decided once, and kept."""

import io
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image

from fairflac.config.run_config import finished
from fairflac.data.own import list_own, own_sheet
from fairflac.data.own.csv_file import NEEDED, list_table
from fairflac.data.own.groups import GUESS, check_groups, guess_columns, has_guesses
from fairflac.data.own.listing import Listing
from fairflac.data.own.sheet import USUAL as USUAL_COLUMNS
from fairflac.data.own.sheet import ColumnChoice, Sheet, groupable
from fairflac.data.pixels.decode import Unreadable, decode
from fairflac.data.pixels.files import ImageBytes
from fairflac.data.pixels.rows import image_row
from fairflac.data.sets.fairface import PUBLISHED, FairFace
from fairflac.debiasing.budget import (
    AGAINST,
    HELD_OUT,
    SEARCH,
    USUAL,
    BiasModelCost,
    TimeBudget,
    TrainingSetup,
    batch_size,
    choose_setup,
    epochs,
)
from fairflac.discovery.witnesses import NETWORKS
from fairflac.errors import UserError, unknown
from fairflac.nets.weights import imagenet_file, read_state, sha256_of
from fairflac.system.files import write_text
from fairflac.system.parse import parse_json
from fairflac.system.tables import csv_text

VANILLA = "vanilla"
DISCOVER = "discover"
FAIRFACE = "fairface:"
FAIRFACE_EPOCHS = 3
LABELLED = "labelled.csv"  # the images of a table that have the attribute


@dataclass(frozen=True)
class BiasModel:
    """Which method matches pairs against it, and the settings of its run."""

    method: str  # flac-b: it is a model of the same classes; flac: it was taught the attribute
    settings: dict[str, Any]  # as `train` takes them
    says: str  # what it is, for people
    work: BiasModelCost  # that it takes
    run: Path | None = None  # where a finished one lies
    columns: tuple[str, ...] | None = None  # attributes that are known for all images, where one is not


# What is trained against groups: by name, the method and its settings. Why these: docs/results/faces-without-labels.md.
AGAINST_GROUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "flac": ("flac", {"targets": "reachable", "balance": "logits"}),
    "balanced": ("balanced", {}),
}


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


# Stands in for a bias model where groups are searched for; each model more costs about as much as vanilla.
SEARCHED = BiasModel(
    "flac", {}, "searched for in frozen features", BiasModelCost(runs=AGAINST * (len(AGAINST_GROUPS) - 1))
)


def bias_model(word: str, size: TrainingSetup) -> BiasModel:
    """From the word that the user gave."""
    if word in NETWORKS:
        pinned = size.early_epochs if word == "early" else size.epochs
        settings = {"bias_model.kind": word, "bias_model.epochs": pinned}
        costs = {"early": _early(size), VANILLA: BiasModelCost()}  # vanilla is trained anyway
        work = costs.get(word, BiasModelCost(runs=1))
        return BiasModel("flac-b", settings, f"{word}, trained on the same images and classes", work)
    if word.startswith(FAIRFACE):
        return _fairface(word.removeprefix(FAIRFACE), size)
    path = Path(word).expanduser()
    if path.is_dir():
        finished(path)
        return BiasModel("flac", {"bias_model": str(path)}, f"the run {path}", BiasModelCost(), run=path)
    if path.is_file():
        read_state(path, "network")
        # Its last layer may be of other classes, and its probabilities then mean nothing: others guess the groups.
        weights = {"bias_model.weights": str(path.resolve()), "bias_model.epochs": 0, "bias_output": "features"}
        return BiasModel("flac-b", weights, f"weights of {path.name}", _early(size))
    raise UserError(
        f"bias model '{word}': this is no run directory and no weight file; give one, or one of "
        f"{', '.join((DISCOVER, *NETWORKS))}, or {FAIRFACE}gender, {FAIRFACE}race, {FAIRFACE}age"
    )


def _early(size: TrainingSetup) -> BiasModelCost:
    return BiasModelCost(images=size.early_epochs * size.steps * size.batch_size)


def _fairface(attribute: str, size: TrainingSetup) -> BiasModel:
    known = FairFace.attributes or ()
    if attribute not in known:
        unknown("attribute", attribute, known, "of FairFace")
    settings = {"dataset": FairFace.name, "target": attribute, "size": size.size, "seed": 0, "epochs": FAIRFACE_EPOCHS}
    if attribute == "age":
        settings["drop_teens"] = True
    work = BiasModelCost(images=FAIRFACE_EPOCHS * PUBLISHED["train"])
    return BiasModel("flac", _stage_one(settings), f"{attribute}, learnt from FairFace", work)


def taught(
    table: Path,
    column: str,
    source: Path | None,
    output: Path,
    *,
    allow_outside: bool,
    choice: ColumnChoice = USUAL_COLUMNS,
) -> BiasModel:
    """A bias model that learns `column`: from a folder with a subfolder for each value, from another table, or from
    the rows of `table` itself that have it. `choice`: the columns of `table`."""
    settings: dict[str, Any]
    labelled = source or table
    choice = choice if source is None else USUAL_COLUMNS
    sheet = own_sheet(labelled, choice)
    if sheet is None and source is not None:
        settings = {"dataset": "folder", "path": str(source.resolve()), "target": "class"}
        images = len(list_own(source).names)
        settings |= _pace(images)
        says = f"{column}, learnt from the folders in {source}"
        return BiasModel("flac", _stage_one(settings), says, _work(images))
    if sheet is None:
        raise UserError(
            f"attribute {column}: '{labelled}' is a folder, which has no columns: give a CSV file, or as "
            "attribute_from a folder that has a subfolder for each value"
        )
    if column not in sheet.header:
        unknown("column", column, sheet.header, f"of '{labelled}'")
    rows = len(sheet.rows)
    known = [row for row in sheet.rows if row[column]]
    if len(known) == rows:
        list_own(labelled, (column,), allow_outside, choice)  # says now what is wrong with it
        settings = {"dataset": "folder" if labelled.is_dir() else "csv", "path": str(labelled.resolve())}
        settings |= ({"allow_outside": True} if allow_outside else {}) | choice.settings()
    else:
        path = _write_labelled(known, sheet, column, output, choice)
        list_table(path, (column,), allow_outside=True)
        settings = {"dataset": "csv", "path": str(path), "allow_outside": True}
    settings |= {"columns": [column], "target": column} | _pace(len(known))
    says = f"{column}, learnt from its labels of {'all' if len(known) == rows else f'{len(known):,} of the {rows:,}'}"
    says += f" images in {labelled.name}"
    known_of_all = None if len(known) == rows or source is not None else _filled(sheet, choice)
    return BiasModel("flac", _stage_one(settings), says, _work(len(known)), columns=known_of_all)


def _pace(images: int) -> dict[str, int]:
    """Of a bias model that learns from so many images, most of which are trained on."""
    return {"epochs": epochs(images), "batch_size": batch_size(images)}


def _work(images: int) -> BiasModelCost:
    return BiasModelCost(images=epochs(images) * images)


def _stage_one(settings: dict[str, Any]) -> dict[str, Any]:
    return {f"bias_model.{key}": value for key, value in settings.items()}


def _filled(sheet: Sheet, choice: ColumnChoice) -> tuple[str, ...]:
    """The attributes that every row has."""
    return tuple(name for name in groupable(sheet, sheet.attributes(choice))[0] if all(sheet.values(name)))


def _write_labelled(rows: list[dict[str, str]], sheet: Sheet, column: str, output: Path, choice: ColumnChoice) -> Path:
    """The rows with a value, as a table of their own whose paths hold from anywhere."""
    if not rows:
        raise UserError(f"column '{column}' of '{sheet.source}' is empty: fill it in for some images")
    path_column, label = sheet.path_column(choice), sheet.label_column(choice)
    lines = [[*NEEDED, column]]
    lines += [[str((sheet.folder / row[path_column]).resolve()), row[label], row[column]] for row in rows]
    path, text = output / LABELLED, csv_text(lines, quoted=True)
    if not path.exists() or path.read_text() != text:  # a file that did not change keeps its run
        write_text(path, text)
    return path.resolve()


LOOKED_AT = 64  # images, decoded to a square of `TRIED` pixels
TRIED = 72
PLAN = "plan.json"


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
            table = _write_labelled(known, self.sheet, self.attribute, self.output, self.choice)
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
        return {"columns": list(_filled(self.sheet, self.choice))}

    def stage_one(self, size: TrainingSetup) -> BiasModel:
        """What was asked for, where it is not groups."""
        if self.attribute is None:
            return bias_model(self._kind, size)
        outside, choice = self.allow_outside, self.choice
        found = taught(
            self.path, self.attribute, self.attribute_from, self.output, allow_outside=outside, choice=choice
        )
        own = {} if self.split_seed is None else _stage_one({"split_seed": self.split_seed})
        return replace(found, settings=found.settings | own)

    def provisional(self) -> TrainingSetup:
        """What would be trained if time did not matter; nothing is measured for it."""
        images = training_images(self.listing())
        batch = batch_size(images)
        return TrainingSetup(*USUAL, epochs(images), batch, max(images // batch, 1), 0.0)


@dataclass(frozen=True)
class DebiasPlan:
    """What is trained. Decided once and kept: a command that was stopped goes on with the same runs."""

    path: Path
    key: str  # of the request
    size: TrainingSetup
    epochs: dict[str, int]  # by model, as decided when its turn came
    groups: dict[str, Any] | None = None  # that were found, see `TrainingGroups`

    def of(self, model: str) -> TrainingSetup:
        """As decided; a model whose turn has not come gets no more than vanilla, or they could not be compared."""
        most = self.epochs.get(VANILLA, self.size.epochs)
        return replace(self.size, epochs=self.epochs.get(model, most))

    def decide(self, model: str, epochs: int) -> "DebiasPlan":
        """Written down before the model is trained."""
        plan = replace(self, epochs={**self.epochs, model: epochs})
        plan.write()
        return plan

    def with_groups(self, groups: dict[str, Any]) -> "DebiasPlan":
        """Written down, so that they are searched for once."""
        plan = replace(self, groups=groups)
        plan.write()
        return plan

    def write(self) -> None:
        content = {"key": self.key, "size": asdict(self.size), "epochs": self.epochs, "groups": self.groups}
        write_text(self.path, json.dumps(content, indent=1))


def planned(request: Request, clock: TimeBudget, work: BiasModelCost, data: Path) -> DebiasPlan:
    """As kept from an earlier call, or made now; `work`: that the bias model takes, `data`: where weights may be."""
    path, key = request.output / PLAN, request.key()
    with suppress(OSError, ValueError, KeyError, TypeError):  # there may be none, or a damaged one
        kept = parse_json(path.read_text())
        if kept["key"] == key:
            epochs_by_model = {name: int(n) for name, n in kept["epochs"].items()}
            return DebiasPlan(path, key, TrainingSetup(**kept["size"]), epochs_by_model, kept.get("groups"))
    listing = request.listing()
    side, reading = look_at(listing)
    if request.by_groups:
        reading += len(listing.names) * SEARCH
    images, weights = training_images(listing), imagenet_file(data).is_file()
    work = replace(work, reading=reading)
    plan = DebiasPlan(path, key, choose_setup(images, side, clock, work, request.changes, pretrained=weights), {})
    plan.write()
    return plan


def training_images(listing: Listing) -> int:
    """About so many: broken files and copies are not known yet."""
    splits = listing.splits or ()
    own = len(listing.names) if not splits else sum(split == "train" for split in splits)
    cut = sum(name not in splits for name in ("validation", "test"))
    return max(round(own * (1 - cut * HELD_OUT)), 1)


def look_at(listing: Listing) -> tuple[int, float]:
    """Of some images: the median of their shorter sides, and the seconds that reading all images will take.

    To reach a single row of a table others may have to be read, which says nothing: there decoding alone is measured.
    """
    looked, contents = listing.names[:: max(len(listing.names) // LOOKED_AT, 1)], ImageBytes()
    sides, seconds = [], 0.0
    for path in (listing.folder / name for name in looked):
        content = contents.or_why(path) if image_row(path) else None
        start = time.perf_counter()
        side = _side(contents.or_why(path) if content is None else content)
        seconds += time.perf_counter() - start
        sides += [side] if side else []
    if not sides:
        raise UserError(f"none of the files looked at in '{listing.folder}' can be read as an image")
    return sorted(sides)[len(sides) // 2], seconds / len(looked) * len(listing.names) / (os.cpu_count() or 1)


def _side(content: bytes | Unreadable) -> int | None:
    if isinstance(content, Unreadable):
        return None
    try:
        with Image.open(io.BytesIO(content)) as image:
            side = min(image.size)
        decode(content, (TRIED, TRIED), "cover")
        return side
    except Exception:  # Pillow raises nearly anything; reading the images names what is broken
        return None
