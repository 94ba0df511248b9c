"""A table of predictions that were made elsewhere: which column is what, and what it says."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairflac.data.own.csv_file import read_sheet
from fairflac.errors import UserError, unknown
from fairflac.inference.model import probabilities
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import Names

# What columns are usually called, the likelier first; `class` and `probability` are what `fairflac predict` writes.
LABELS = ("label", "y_true", "target", "true_label", "truth", "ground_truth", "gold")
PREDICTIONS = ("prediction", "predicted", "pred", "y_pred", "predicted_label", "class")
SURE = ("probability", "confidence", "score")
ROWS = ("path", "file", "filename", "image", "name", "id", "index", "split")  # they name a row, and make no groups
MOST_VALUES = 50  # of an attribute that nobody asked for: of more, each has too few rows
NO_SCORES = "The scores of a row do not add up to 1, so that how sure the model was is not known."


@dataclass(frozen=True)
class PredictionColumns:
    """What the user says of the columns; what is not said is found by its name."""

    label: str | None = None
    predictions: tuple[str, ...] = ()  # several: one for each model
    score_prefix: str | None = None  # the column of a class's score is called this and the class
    attributes: tuple[str, ...] = ()  # all others, where there is none
    positive: str | None = None  # of two classes; the second in order, where it is not said


@dataclass(frozen=True)
class PredictionFile:
    """What was read, as tables that metrics are made from."""

    source: str
    tables: Mapping[str, Predictions]  # by model: the name of its column
    names: Names  # of classes and values, fit to be shown
    rows: list[str]  # where each row is in the file
    scored: bool  # how sure each model was is known
    notes: tuple[str, ...]

    def only(self, model: str, attribute: str) -> Predictions:
        """The table of one attribute."""
        table = self.tables[model]
        return replace(table, bias={attribute: table.bias[attribute]}, aligned={attribute: table.aligned[attribute]})


@dataclass(frozen=True)
class _Sheet:
    """Columns of text, all of one length."""

    source: str
    columns: dict[str, list[str]]
    places: list[str]  # of each row: "line 3 of 'predictions.csv'"

    def where(self, row: int) -> str:
        return self.places[row]

    def full(self, name: str) -> list[str]:
        """A column without gaps."""
        values = self.columns[name]
        for row, value in enumerate(values):
            if not value:
                raise UserError(
                    f"{self.where(row)} has nothing in column '{name}': fill it in, remove the line, or choose other "
                    "columns"
                )
        return values

    def numbers(self, name: str) -> np.ndarray:
        found = np.empty(len(self.places))
        for row, value in enumerate(self.full(name)):
            try:
                found[row] = float(value)
            except ValueError:
                raise UserError(f"{self.where(row)}: '{shown(value)}' in column '{name}' is no number") from None
            if not math.isfinite(found[row]):
                raise UserError(f"{self.where(row)}: '{shown(value)}' in column '{name}' is no finite number")
        return found


def read_predictions(given: Path | str | Mapping[str, Any] | Any, columns: PredictionColumns) -> PredictionFile:
    """From a table of any kind (CSV, JSON lines, Parquet, Arrow); or columns by name, such as a pandas DataFrame."""
    sheet = _sheet(given)
    if not sheet.places:
        raise UserError(f"'{sheet.source}' has no rows")
    label = _found(sheet, "label", columns.label, LABELS)
    truth = _classes(sheet.full(label))
    scores = _score_columns(sheet, columns.score_prefix, {*truth}, {label})
    named = list(columns.predictions) or [name for name in [_usual(sheet, PREDICTIONS, {label})] if name]
    for name in named:
        _known(sheet, "prediction", name)
    if not named and not scores:
        raise UserError(
            f"'{sheet.source}' has labels and no predictions: its columns are {', '.join(map(shown, sheet.columns))}; "
            "name the column of the predictions, or give a model too"
        )
    said = {name: _classes(sheet.full(name)) for name in named}
    classes = _ordered({*truth, *scores, *(one for several in said.values() for one in several)}, columns.positive)
    codes = {name: code for code, name in enumerate(classes)}
    matrix = np.stack([sheet.numbers(scores[name]) for name in classes if name in scores], 1) if scores else None
    if matrix is not None and not said:
        in_order = [name for name in classes if name in scores]
        said = {"scores": [in_order[place] for place in matrix.argmax(1)]}
    for name, several in said.items():
        _check_classes(sheet, name, several, {*truth})
    sure, notes = _sureness(sheet, matrix, [name for name in classes if name in scores], said, {label, *named})
    bias, values, left_out = _attributes(sheet, columns.attributes, {label, *named, *scores.values()}, {*classes})
    y = np.array([codes[one] for one in truth])
    tables = {
        name: _table(y, np.array([codes[one] for one in several]), sure.get(name), bias)
        for name, several in said.items()
    }
    names = Names([shown(name) for name in classes], values)
    return PredictionFile(
        sheet.source, tables, names, _rows(sheet), bool(sure), (*_counted(sheet, label), *notes, *left_out)
    )


def shown(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


def _sheet(given: Any) -> _Sheet:
    if isinstance(given, Path | str):
        path = Path(given).expanduser()
        if path.is_dir():
            raise UserError(f"'{path}' is a folder: give a table of predictions, such as a CSV or Parquet file")
        read = read_sheet(path)
        columns = {name: read.values(name) for name in read.header if name and name not in read.images}
        return _Sheet(str(given), columns, [read.where(row) for row in range(len(read.rows))])
    names = list(given) if isinstance(given, Mapping) else list(given.columns)
    columns = {str(name): ["" if _missing(one) else str(one).strip() for one in list(given[name])] for name in names}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise UserError(f"columns of predictions must be of one length, not of {', '.join(map(str, sorted(lengths)))}")
    return _Sheet("predictions", columns, [f"row {row} of 'predictions'" for row in range(lengths.pop())])


def _missing(value: Any) -> bool:
    return value is None or value != value


def _usual(sheet: _Sheet, usual: Sequence[str], taken: set[str]) -> str | None:
    """The first column that has one of the usual names, in large or small letters."""
    by_name = {name.lower(): name for name in reversed(sheet.columns) if name not in taken}
    return next((by_name[name] for name in usual if name in by_name), None)


def _found(sheet: _Sheet, what: str, given: str | None, usual: Sequence[str]) -> str:
    if given is not None:
        return _known(sheet, what, given)
    name = _usual(sheet, usual, set())
    if name is None:
        raise UserError(
            f"'{sheet.source}' has no column '{usual[0]}': its columns are {', '.join(map(shown, sheet.columns))}; say "
            f"which one has the {what}"
        )
    return name


def _known(sheet: _Sheet, what: str, name: str) -> str:
    if name not in sheet.columns:
        unknown(f"{what} column", name, sheet.columns, f"in '{sheet.source}'")
    return name


def _classes(values: list[str]) -> list[str]:
    """Whole numbers are written as such: 1 and 1.0 are one class."""
    distinct = {*values}
    if not all(_is_number(value) and float(value).is_integer() for value in distinct):
        return values
    written = {value: str(int(float(value))) for value in distinct}
    return [written[value] for value in values]


def _score_columns(sheet: _Sheet, prefix: str | None, labels: set[str], taken: set[str]) -> dict[str, str]:
    """By class. Columns are called as the classes are, or with the same letters before each (`score_cat`)."""
    names = [name for name in sheet.columns if name not in taken]
    if prefix is None:
        some = min(labels)
        prefixes = [name.removesuffix(some) for name in names if name.endswith(some)]
        prefix = next((one for one in sorted(prefixes, key=len) if all(one + label in names for label in labels)), None)
        if prefix is None or len(labels) < 2 or not all(_is_number(sheet.columns[prefix + one][0]) for one in labels):
            return {}
    elif missing := sorted(label for label in labels if prefix + label not in names):
        raise UserError(f"'{sheet.source}' has no column '{shown(prefix + missing[0])}' for the score of a class")
    if prefix:  # also classes that no row has
        return {name.removeprefix(prefix): name for name in names if name.startswith(prefix) and name != prefix}
    return {label: label for label in labels}


def _ordered(classes: set[str], positive: str | None) -> list[str]:
    """By name, numbers by value; of two, the positive one comes last."""
    numeric = all(name.lstrip("-").isdecimal() for name in classes)
    ordered = sorted(classes, key=(lambda name: (int(name), name)) if numeric else None)
    if len(ordered) < 2:
        raise UserError(f"there is only the class '{shown(ordered[0])}': predictions of two classes or more are needed")
    if positive is None:
        return ordered
    if positive not in classes:
        unknown("class", positive, classes)
    if len(ordered) != 2:
        raise UserError(f"positive is for two classes, and there are {len(ordered)}: leave it out")
    return [name for name in ordered if name != positive] + [positive]


def _check_classes(sheet: _Sheet, name: str, said: list[str], truth: set[str]) -> None:
    new = {*said} - truth
    fraction = next((one for one in sorted(new) if _is_number(one) and not float(one).is_integer()), None)
    if fraction is not None:
        raise UserError(
            f"column '{name}' of '{sheet.source}' holds numbers that are no class, such as {shown(fraction)}: give the "
            "predicted class, or a column of scores for each class"
        )
    if new == {*said}:
        raise UserError(
            f"no prediction in column '{name}' of '{sheet.source}' is a class of its labels: '{shown(min(new))}' and "
            f"'{shown(min(truth))}'; write both in the same way"
        )


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _sureness(
    sheet: _Sheet, matrix: np.ndarray | None, order: list[str], said: Mapping[str, list[str]], taken: set[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """(N,) the probability of what each model says, where it is known; and what is to be said of that."""
    if matrix is not None and len(said) == 1:
        if not np.allclose(matrix.sum(1), 1, atol=0.02) or matrix.min() < 0:
            if matrix.min() >= 0 and matrix.max() <= 1:
                return {}, [NO_SCORES]
            matrix = probabilities(matrix)
        ((name, several),) = said.items()
        place = {one: column for column, one in enumerate(order)}
        if all(one in place for one in several):
            return {name: matrix[np.arange(len(several)), [place[one] for one in several]]}, []
    column = _usual(sheet, SURE, taken) if len(said) == 1 and matrix is None else None
    if column is None:
        return {}, []
    numbers = sheet.numbers(column)
    if numbers.min() < 0 or numbers.max() > 1:
        return {}, [f"Column '{shown(column)}' holds more than shares of 1, so that it does not say how sure it was."]
    return {next(iter(said)): numbers}, []


def _attributes(
    sheet: _Sheet, wanted: tuple[str, ...], taken: set[str], classes: set[str]
) -> tuple[dict[str, np.ndarray], dict[str, list[str]], list[str]]:
    """Codes of each attribute, what they mean, and which columns are none."""
    for name in wanted:
        _known(sheet, "attribute", name)
    others = [name for name in sheet.columns if name not in taken and name.lower() not in (*ROWS, *SURE)]
    bias, values, notes = {}, {}, []
    for name in wanted or others:
        counts = Counter(sheet.columns[name])
        alone = sum(count == 1 for count in counts.values())
        if not wanted and counts.keys() <= classes and not any(map(_is_number, counts)):
            notes.append(f"Column '{shown(name)}' holds classes, as predictions of another model do: left out.")
            continue
        if not wanted and "" in counts:
            notes.append(f"Column '{shown(name)}' has gaps: left out.")
            continue
        if len(counts) == 1 or (not wanted and (2 * alone > len(counts) or len(counts) > MOST_VALUES)):
            rows = f"{len(counts):,} value{'s'[: len(counts) > 1]} for {len(sheet.places):,} rows"
            notes.append(f"Column '{shown(name)}' has {rows}: no groups, left out.")
            continue
        found, codes = np.unique(np.array(sheet.full(name)), return_inverse=True)
        bias[name], values[name] = codes.reshape(-1), [shown(str(value)) for value in found]
    return bias, values, notes


def _table(
    y: np.ndarray, prediction: np.ndarray, sure: np.ndarray | None, bias: Mapping[str, np.ndarray]
) -> Predictions:
    """Nobody said which value goes with which class."""
    n = len(y)
    aligned = {name: np.zeros(n, dtype=bool) for name in bias}
    return Predictions(
        np.arange(n), y, prediction, np.ones(n) if sure is None else sure, np.empty((n, 0)), bias, aligned
    )


def _rows(sheet: _Sheet) -> list[str]:
    """What names a row: its line, and its file or id where there is one."""
    column = _usual(sheet, ROWS, set())
    names = [] if column is None or column.lower() == "split" else sheet.columns[column]
    places = (place.partition(" of ")[0] for place in sheet.places)
    return [place + (f", {shown(names[row])}" if names else "") for row, place in enumerate(places)]


def _counted(sheet: _Sheet, label: str) -> list[str]:
    return [f"{len(sheet.places):,} rows of {sheet.source}; the true class is in column '{shown(label)}'."]
