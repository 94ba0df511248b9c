"""Which images a model is audited on."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairflac.audit.classes import in_order_of, taken_for_granted
from fairflac.audit.own import load_own
from fairflac.build import load_config
from fairflac.config import RunConfig
from fairflac.data import DATASETS
from fairflac.data.base import BiasedDataset, Split
from fairflac.data.folder import Folder
from fairflac.data.table import Table
from fairflac.errors import UserError
from fairflac.names import check_images
from fairflac.options import checked, options_of
from fairflac.runs import CONFIG, Run, kept_run
from fairflac.trained.model import Trained

FEWEST = 50  # images, below which an audit says nothing
SEEN = "The model may have been trained on some of them: its numbers are then better than on new images."


@dataclass(frozen=True)
class Choice:
    """What the user says about the images."""

    name: str  # a folder, a CSV file, or a dataset
    root: Path  # of datasets
    split: Split | None = None
    changes: dict[str, Any] = field(default_factory=dict)  # of a dataset
    columns: tuple[str, ...] | None = None  # of a CSV file, that are attributes; None: all
    allow_outside: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Subject:
    """Images, their classes numbered as the model does it."""

    data: BiasedDataset
    training: BiasedDataset | None  # for the bias model; None: there are none that are not audited
    notes: tuple[str, ...]  # which images these are, and what follows from that


def subject(model: Trained, choice: Choice) -> Subject:
    """From a folder, a CSV file or a dataset."""
    check_images(choice.name)
    path, run = Path(choice.name).expanduser(), _run_of(model)
    if choice.name in DATASETS:
        parts, notes = _of_dataset(choice.name, choice.changes, choice, run)
    elif choice.changes:
        raise UserError(f"--set changes a dataset, and '{choice.name}' holds images of your own: leave it out")
    elif run is not None and _trained_on(run, path):
        own = {"columns": choice.columns, "strict": choice.strict or None}
        changes = {key: value for key, value in own.items() if value is not None}
        parts, notes = _of_dataset(run.dataset, changes, choice, run)
        if choice.split is None and len(parts[0]) < FEWEST:  # better all images, and a word about it, than none
            parts, notes = _own(path, model, choice)
    else:
        parts, notes = _own(path, model, choice)
    _check_size(model, parts[0], choice.name)
    data, training = (part and in_order_of(model, part) for part in parts)
    assert data is not None
    return Subject(data, training, (*notes, *taken_for_granted(model, data)))


Parts = tuple[BiasedDataset, BiasedDataset | None]


def _of_dataset(name: str, changes: dict[str, Any], choice: Choice, run: RunConfig | None) -> tuple[Parts, list[str]]:
    """The splits that the dataset makes; those of the model's own training, where it is a run on that dataset."""
    split: Split = choice.split or "test"
    same = run if run is not None and run.dataset == name else None
    dataset: Any = DATASETS[name]
    options = checked(options_of(dataset), (same.data_options if same else {}) | changes, name)
    made = dataset(same.seed if same else 0, **dict(options))
    loaded = {part: made.load(choice.root, part) for part in {split, "train"}}
    if loaded[split] is None:
        raise UserError(f"{name} has no {split} split: give another one with --split")
    target = same.target if same else "class"
    data, training = (loaded[part] and loaded[part].with_target(target) for part in (split, "train"))
    notes = [f"{len(data):,} images, the {split} split of {choice.name}."]
    seen = split == "train" or (split != "test" and bool(same and changes))  # other settings may mean other splits
    return (data, None if split == "train" else training), notes + ([SEEN] if seen else [])


def _own(path: Path, model: Trained, choice: Choice) -> tuple[Parts, list[str]]:
    """The splits that a folder or table has, else all of its images."""
    found = load_own(path, model, choice.root / "cache", choice.columns, choice.allow_outside, choice.strict)
    if found.splits is None:
        if choice.split is not None:
            raise UserError(f"'{path}' has no splits of its own: leave out --split, and all images are audited")
        return (found.data, None), [f"All {len(found.data):,} images of {choice.name}.", SEEN, *found.notes]
    split: Split = choice.split or "test"
    if not (found.splits == split).any():
        there = ", ".join(sorted({str(name) for name in found.splits}))
        raise UserError(f"'{path}' has no {split} split, only {there}: give one of them with --split")
    notes = [f"{(found.splits == split).sum():,} images, the {split} split of {choice.name}."]
    if split == "train" or not (found.splits == "train").any():
        return (found.part(split), None), [*notes, *([SEEN] if split == "train" else []), *found.notes]
    return (found.part(split), found.part("train")), [*notes, *found.notes]


def _run_of(model: Trained) -> RunConfig | None:
    """How the model was made, where it is a run directory or what `debias` left."""
    path = Path(model.source)
    home = path if (path / CONFIG).is_file() else kept_run(path)
    return None if home is None else load_config(Run(home))


def _trained_on(run: RunConfig, path: Path) -> bool:
    own = run.dataset in (Folder.name, Table.name)
    return own and Path(run.data_options["path"]).expanduser().resolve() == path.resolve()


def _check_size(model: Trained, data: BiasedDataset, name: str) -> None:
    """A model that sees the middle of larger images than it was made for sees a part of the thing."""
    if data.task.image_size != model.image_size:
        (height, width), (rows, columns) = data.task.image_size, model.image_size
        raise UserError(
            f"'{model.source}' takes images of {rows} x {columns}, and {name} has them at {height} x {width}: "
            "give the images as a folder or CSV file, which can be read at any size, or --set size where there is one"
        )
