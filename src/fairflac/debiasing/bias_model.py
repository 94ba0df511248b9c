"""Which bias model `debias` matches pairs against, or what stands in for one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairflac.config.run_config import finished
from fairflac.data.own import list_own, own_sheet
from fairflac.data.own.csv_file import NEEDED, list_table
from fairflac.data.own.sheet import USUAL as USUAL_COLUMNS
from fairflac.data.own.sheet import ColumnChoice, Sheet, groupable
from fairflac.data.sets.fairface import PUBLISHED, FairFace
from fairflac.debiasing.budget import AGAINST, BiasModelCost, TrainingSetup, batch_size, epochs
from fairflac.discovery.witnesses import NETWORKS
from fairflac.errors import UserError, unknown
from fairflac.nets.weights import read_state
from fairflac.system.files import write_text
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


def against_groups(size: TrainingSetup) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is trained against groups: by name, the method and its settings; why: docs/results/faces-without-labels.md.

    A network that knows how to see gains more from mixed images than from drawing the same few more often. One that
    starts from scratch needs more epochs for them than there are.
    """
    second = ("lisa", {"p_sel": 1.0}) if size.fine_tuned else ("balanced", {})
    return {"flac": ("flac", {"targets": "reachable", "balance": "logits"}), second[0]: second}


# Stands in for a bias model where groups are searched for; the second model against them costs more than vanilla, too.
SEARCHED = BiasModel("flac", {}, "searched for in frozen features", BiasModelCost(runs=AGAINST))


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
    return BiasModel("flac", stage_one_settings(settings), f"{attribute}, learnt from FairFace", work)


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
        return BiasModel("flac", stage_one_settings(settings), says, _work(images))
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
        path = write_labelled(known, sheet, column, output, choice)
        list_table(path, (column,), allow_outside=True)
        settings = {"dataset": "csv", "path": str(path), "allow_outside": True}
    settings |= {"columns": [column], "target": column} | _pace(len(known))
    says = f"{column}, learnt from its labels of {'all' if len(known) == rows else f'{len(known):,} of the {rows:,}'}"
    says += f" images in {labelled.name}"
    known_of_all = None if len(known) == rows or source is not None else filled_columns(sheet, choice)
    return BiasModel("flac", stage_one_settings(settings), says, _work(len(known)), columns=known_of_all)


def _pace(images: int) -> dict[str, int]:
    """Of a bias model that learns from so many images, most of which are trained on."""
    return {"epochs": epochs(images), "batch_size": batch_size(images)}


def _work(images: int) -> BiasModelCost:
    return BiasModelCost(images=epochs(images) * images)


def stage_one_settings(settings: dict[str, Any]) -> dict[str, Any]:
    return {f"bias_model.{key}": value for key, value in settings.items()}


def filled_columns(sheet: Sheet, choice: ColumnChoice) -> tuple[str, ...]:
    """The attributes that every row has."""
    return tuple(name for name in groupable(sheet, sheet.attributes(choice))[0] if all(sheet.values(name)))


def write_labelled(rows: list[dict[str, str]], sheet: Sheet, column: str, output: Path, choice: ColumnChoice) -> Path:
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
