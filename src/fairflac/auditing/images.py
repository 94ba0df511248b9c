"""Which images a model is audited on."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairflac.config.options import check_images, checked, options_of
from fairflac.config.run_config import RunConfig
from fairflac.data import DATASETS
from fairflac.data.base import BiasedDataset, Split
from fairflac.data.own.csv_file import Table, list_table
from fairflac.data.own.folder import Folder, folder_sheet, list_folder
from fairflac.data.own.listing import MEAN, STD, Listing, attribute_codes, read_listing
from fairflac.data.own.sheet import USUAL, ColumnChoice
from fairflac.errors import UserError
from fairflac.inference.model import Classifier
from fairflac.runs.directory import CONFIG, Run, kept_run
from fairflac.training.build import load_config
from fairflac.types import Attribute, TaskSpec

FEWEST = 50  # images, below which an audit says nothing
SEEN = "The model may have been trained on some of them: its numbers are then better than on new images."


@dataclass(frozen=True)
class ImageSelection:
    """What the user says about the images."""

    name: str  # a folder, a CSV file, or a dataset
    root: Path  # of datasets
    split: Split | None = None
    changes: dict[str, Any] = field(default_factory=dict)  # of a dataset
    columns: tuple[str, ...] | None = None  # of a CSV file, that are attributes; None: all
    choice: ColumnChoice = USUAL  # which column is what
    allow_outside: bool = False
    strict: bool = False


@dataclass(frozen=True)
class AuditedImages:
    """Images, their classes numbered as the model does it."""

    data: BiasedDataset
    training: BiasedDataset | None  # for the bias model; None: there are none that are not audited
    notes: tuple[str, ...]  # which images these are, and what follows from that


def select_images(model: Classifier, selection: ImageSelection) -> AuditedImages:
    """From a folder, a CSV file or a dataset."""
    check_images(selection.name)
    path, run = Path(selection.name).expanduser(), run_of(model)
    if selection.name in DATASETS:
        parts, notes = _of_dataset(selection.name, selection.changes, selection, run)
    elif selection.changes:
        raise UserError(f"settings are for datasets, and '{selection.name}' holds images of your own: leave them out")
    elif run is not None and _trained_on(run, path):
        own = {"columns": selection.columns, "strict": selection.strict or None}
        changes = {key: value for key, value in own.items() if value is not None}
        parts, notes = _of_dataset(run.dataset, changes, selection, run)
        if selection.split is None and len(parts[0]) < FEWEST:  # better all images, and a word about it, than none
            parts, notes = _of_user(path, model, selection)
    else:
        parts, notes = _of_user(path, model, selection)
    _check_size(model, parts[0], selection.name)
    data, training = (part and in_order_of(model, part) for part in parts)
    assert data is not None
    return AuditedImages(data, training, (*notes, *assumptions(model, data)))


Parts = tuple[BiasedDataset, BiasedDataset | None]


def _of_dataset(
    name: str, changes: dict[str, Any], selection: ImageSelection, run: RunConfig | None
) -> tuple[Parts, list[str]]:
    """The splits that the dataset makes; those of the model's own training, where it is a run on that dataset."""
    split: Split = selection.split or "test"
    same = run if run is not None and run.dataset == name else None
    dataset: Any = DATASETS[name]
    options = checked(options_of(dataset), (same.data_options if same else {}) | changes, name)
    made = dataset(same.seed if same else 0, **dict(options))
    loaded = {part: made.load(selection.root, part) for part in {split, "train"}}
    if loaded[split] is None:
        raise UserError(f"{name} has no {split} split: give another split")
    target = same.target if same else "class"
    data, training = (loaded[part] and loaded[part].with_target(target) for part in (split, "train"))
    notes = [f"{len(data):,} images, the {split} split of {selection.name}."]
    seen = split == "train" or (split != "test" and bool(same and changes))  # other settings may mean other splits
    return (data, None if split == "train" else training), notes + ([SEEN] if seen else [])


def _of_user(path: Path, model: Classifier, selection: ImageSelection) -> tuple[Parts, list[str]]:
    """The splits that a folder or table has, else all of its images."""
    found = load_user_images(path, model, selection)
    if found.splits is None:
        if selection.split is not None:
            raise UserError(f"'{path}' has no splits of its own: leave out split, and all images are audited")
        return (found.data, None), [f"All {len(found.data):,} images of {selection.name}.", SEEN, *found.notes]
    split: Split = selection.split or "test"
    if not (found.splits == split).any():
        there = ", ".join(sorted({str(name) for name in found.splits}))
        raise UserError(f"'{path}' has no {split} split, only {there}: give one of them as split")
    notes = [f"{(found.splits == split).sum():,} images, the {split} split of {selection.name}."]
    if split == "train" or not (found.splits == "train").any():
        return (found.part(split), None), [*notes, *([SEEN] if split == "train" else []), *found.notes]
    return (found.part(split), found.part("train")), [*notes, *found.notes]


def run_of(model: Classifier) -> RunConfig | None:
    """How the model was made, where it is a run directory or what `debias` left."""
    path = Path(model.source)
    home = path if (path / CONFIG).is_file() else kept_run(path)
    return None if home is None else load_config(Run(home))


def _trained_on(run: RunConfig, path: Path) -> bool:
    own = run.dataset in (Folder.name, Table.name)
    return own and Path(run.data_options["path"]).expanduser().resolve() == path.resolve()


def _check_size(model: Classifier, data: BiasedDataset, name: str) -> None:
    """A model that sees the middle of larger images than it was made for sees a part of the thing."""
    if data.task.image_size != model.image_size:
        (height, width), (rows, columns) = data.task.image_size, model.image_size
        raise UserError(
            f"'{model.source}' takes images of {rows} x {columns}, and {name} has them at {height} x {width}: "
            "give the images as a folder or CSV file, which can be read at any size, or set size where there is one"
        )


@dataclass(frozen=True)
class UserImages:
    data: BiasedDataset
    splits: np.ndarray | None  # (N,) the split of each image; None: there are none
    notes: list[str]

    def part(self, split: Split) -> BiasedDataset:
        rows = np.flatnonzero(self.splits == split)
        return replace(self.data.take(rows), split=split)


def load_user_images(path: Path, model: Classifier, selection: ImageSelection) -> UserImages:
    """A folder with a subfolder for each class, or a table."""
    asked = selection.columns, selection.allow_outside, selection.choice
    if path.is_dir():
        if selection.columns and folder_sheet(path, selection.choice) is None:
            raise UserError(f"attribute {selection.columns[0]} is a column of a CSV file, and '{path}' is a folder")
        listing = list_folder(path, *asked)
    else:
        listing = list_table(path, *asked)
    cache = selection.root / "cache"
    read = read_listing(listing, model.decoded_size, cache, fit=model.fit, strict=selection.strict)
    listing = read.listing
    classes = sorted(set(listing.labels))
    if len(classes) < 2:
        raise UserError(f"'{path}' has images of '{classes[0]}' alone: an audit needs two classes or more")
    y = np.searchsorted(classes, np.array(listing.labels))
    splits = None if listing.splits is None else np.array(listing.splits)
    bias, attributes, notes = _attributes(listing, y, len(classes))
    task = TaskSpec(tuple(classes), attributes, model.image_size, MEAN, STD)
    data = BiasedDataset(read.images.pixels, y, bias, np.array(listing.names), "test", task)
    return UserImages(data, splits, notes)


def _attributes(
    listing: Listing, y: np.ndarray, num_classes: int
) -> tuple[dict[str, np.ndarray], dict[str, Attribute], list[str]]:
    """Columns that group the images; one with another value for nearly every image (an id, a date) does not."""
    bias, attributes, notes = {}, {}, []
    for name, column in listing.attributes.items():
        codes, attribute = attribute_codes(np.array(column), y, num_classes)
        alone = sum(count == 1 for count in Counter(codes.tolist()).values())
        if 2 * alone > len(attribute.values):
            notes.append(
                f"Column '{name}' has {len(attribute.values):,} values for {len(y):,} images: no groups, left out."
            )
            continue
        bias[name], attributes[name] = codes, attribute
    return bias, attributes, notes


NAMED = 5  # in a message


def in_order_of(model: Classifier, data: BiasedDataset) -> BiasedDataset:
    """The same images, their classes numbered as the model does it."""
    own = data.task.classes
    if model.classes is None or model.classes == own:
        _check_count(model, data)
        return data
    if sorted(model.classes) != sorted(own):
        raise UserError(
            f"'{model.source}' knows the classes {few(model.classes)}, and the images have {few(own)}: "
            "they must have the same names"
        )
    new = np.array([model.classes.index(name) for name in own])
    old = [own.index(name) for name in model.classes]
    attributes = {
        name: replace(attribute, aligned=tuple(attribute.aligned[place] for place in old))
        for name, attribute in data.task.attributes.items()
    }
    return replace(data, y=new[data.y], task=replace(data.task, classes=model.classes, attributes=attributes))


def assumptions(model: Classifier, data: BiasedDataset) -> list[str]:
    """What is said where nobody knows the order."""
    if model.classes is not None:
        return []
    numbered = few(tuple(f"{number} = {name}" for number, name in enumerate(data.task.classes)))
    return [f"The model does not name its classes; they were taken in the order of their names: {numbered}."]


def few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _check_count(model: Classifier, data: BiasedDataset) -> None:
    outputs, classes = model(np.asarray(data.images[:1])).shape[1], len(data.task.classes)
    if outputs != classes:
        raise UserError(
            f"'{model.source}' tells {outputs} classes apart, and the images have {classes}: {few(data.task.classes)}"
        )
