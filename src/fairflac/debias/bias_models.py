"""Where the bias model comes from: nowhere (label-free), a run, a weight file, FairFace, or labels of some images."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairflac.config import finished
from fairflac.data.fairface import PUBLISHED, FairFace
from fairflac.data.folder import list_folder
from fairflac.data.table import NEEDED, list_table, read_sheet
from fairflac.debias.budget import BiasWork, Size, batch_size, epochs
from fairflac.debias.choice import VANILLA
from fairflac.errors import UserError, unknown
from fairflac.files import write_text
from fairflac.nets.weights import read_state

# Label-free kinds (recipes/folder.toml); early is the cheapest of those that find the right pairs, see docs/results.md.
KINDS = ("early", "gce", "small", "vanilla")
FAIRFACE = "fairface:"
FAIRFACE_EPOCHS = 3
LABELLED = "labelled.csv"  # the images of a table that have the attribute


@dataclass(frozen=True)
class BiasModel:
    """Which method matches pairs against it, and the settings of its run."""

    method: str  # flac-b: it is a model of the same classes; flac: it was taught the attribute
    settings: dict[str, Any]  # as for `--set`
    says: str  # what it is, for people
    work: BiasWork  # that it takes
    run: Path | None = None  # where a finished one lies
    columns: tuple[str, ...] | None = None  # attributes that are known for all images, where one is not


def bias_model(word: str, size: Size) -> BiasModel:
    """From what the user wrote behind `--bias-model`."""
    if word in KINDS:
        pinned = size.early_epochs if word == "early" else size.epochs
        settings = {"bias_model.kind": word, "bias_model.epochs": pinned}
        work = {"early": _early(size), VANILLA: BiasWork()}.get(word, BiasWork(runs=1))  # vanilla is trained anyway
        return BiasModel("flac-b", settings, f"{word}, trained on the same images and classes", work)
    if word.startswith(FAIRFACE):
        return _fairface(word.removeprefix(FAIRFACE), size)
    path = Path(word).expanduser()
    if path.is_dir():
        finished(path)
        return BiasModel("flac", {"bias_model": str(path)}, f"the run {path}", BiasWork(), run=path)
    if path.is_file():
        read_state(path, "network")
        # Its last layer may be of other classes, and its probabilities then mean nothing: others guess the groups.
        weights = {"bias_model.weights": str(path.resolve()), "bias_model.epochs": 0, "bias_output": "features"}
        return BiasModel("flac-b", weights, f"weights of {path.name}", _early(size))
    raise UserError(
        f"--bias-model {word}: this is no run directory and no weight file; give one, or one of {', '.join(KINDS)}, "
        f"or {FAIRFACE}gender, {FAIRFACE}race, {FAIRFACE}age"
    )


def _early(size: Size) -> BiasWork:
    return BiasWork(images=size.early_epochs * size.steps * size.batch_size)


def _fairface(attribute: str, size: Size) -> BiasModel:
    known = FairFace.attributes or ()
    if attribute not in known:
        unknown("attribute of FairFace", attribute, known)
    settings = {"dataset": FairFace.name, "target": attribute, "size": size.size, "seed": 0, "epochs": FAIRFACE_EPOCHS}
    if attribute == "age":
        settings["drop_teens"] = True
    work = BiasWork(images=FAIRFACE_EPOCHS * PUBLISHED["train"])
    return BiasModel("flac", _stage_one(settings), f"{attribute}, learnt from FairFace", work)


def taught(table: Path, column: str, source: Path | None, output: Path, *, allow_outside: bool) -> BiasModel:
    """A bias model that learns `column`: from a folder with a subfolder for each value, from another table, or from
    the rows of `table` itself that have it."""
    settings: dict[str, Any]
    if source is not None and source.is_dir():
        settings = {"dataset": "folder", "path": str(source.resolve()), "target": "class"}
        images = len(list_folder(source).names)
        settings |= _pace(images)
        says = f"{column}, learnt from the folders in {source}"
        return BiasModel("flac", _stage_one(settings), says, _work(images))
    labelled = source or table
    if labelled.is_dir():
        raise UserError(
            f"--attribute {column}: '{labelled}' is a folder, which has no columns: give a CSV file, or with "
            "--attribute-from a folder that has a subfolder for each value"
        )
    sheet = read_sheet(labelled)
    rows, header = sheet.rows, sheet.header
    if column not in header:
        unknown(f"column of '{labelled}'", column, header)
    known = [row for row in rows if row[column]]
    whole = len(known) == len(rows)
    path = labelled.resolve() if whole else _write_labelled(known, labelled, column, output)
    outside = allow_outside or not whole
    list_table(path, (column,), outside)  # says now what is wrong with it
    settings = {"dataset": "csv", "path": str(path), "columns": [column], "target": column, "allow_outside": outside}
    settings |= _pace(len(known))
    says = f"{column}, learnt from its labels of {'all' if whole else f'{len(known):,} of the {len(rows):,}'} images"
    says += f" in {labelled.name}"
    known_of_all = None if whole or source is not None else _filled(rows, header)
    return BiasModel("flac", _stage_one(settings), says, _work(len(known)), columns=known_of_all)


def _pace(images: int) -> dict[str, int]:
    """Of a bias model that learns from so many images, most of which are trained on."""
    return {"epochs": epochs(images), "batch_size": batch_size(images)}


def _work(images: int) -> BiasWork:
    return BiasWork(images=epochs(images) * images)


def _stage_one(settings: dict[str, Any]) -> dict[str, Any]:
    return {f"bias_model.{key}": value for key, value in settings.items()}


def _filled(rows: list[dict[str, str]], header: list[str]) -> tuple[str, ...]:
    """The attributes that every row has."""
    others = (name for name in header if name not in (*NEEDED, "split"))
    return tuple(name for name in others if all(row[name] for row in rows))


def _write_labelled(rows: list[dict[str, str]], source: Path, column: str, output: Path) -> Path:
    """The rows with a value, as a table of their own whose paths hold from anywhere."""
    if not rows:
        raise UserError(f"column '{column}' of '{source}' is empty: fill it in for some images")
    lines = [["path", "label", column]]
    lines += [[str((source.parent / row["path"]).resolve()), row["label"], row[column]] for row in rows]
    path = output / LABELLED
    text = "\n".join(",".join(_quoted(cell) for cell in line) for line in lines) + "\n"
    if not path.exists() or path.read_text() != text:  # a file that did not change keeps its run
        write_text(path, text)
    return path.resolve()


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
