"""Images whose class is in their file name, `climbing_12.jpg` → a CSV file that lists them."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fairflac.data.own.folder import looks_like_image
from fairflac.data.own.listing import SPLITS
from fairflac.data.own.sheet import LABEL, PATH, SPLIT
from fairflac.errors import UserError
from fairflac.system.files import visible_files
from fairflac.system.tables import csv_text

# What stands beside a number is the class: climbing_12, cat.0, dog-001, cat (3); or 12_climbing, 0-cat.
READINGS = {
    "a class, then a number": re.compile(r"(?P<label>.*?[^\W\d_].*?)[\W_]*\d+[\W_]*"),
    "a number, then a class": re.compile(r"[\W_]*\d+[\W_]*(?P<label>.*?[^\W\d_].*?)"),
}
TWO_NUMBERS = re.compile(r"\d+[\W_].*|.*[\W_]\d+")  # what is left of a name with a number on either side
FIELD = re.compile(r"\{(\w+)\}|\*")  # of a pattern such as {label}_{person}_*
WANTED = "give a pattern, such as '{label}_*' or a regular expression with (?P<label>…)"


@dataclass(frozen=True)
class FlatNames:
    """What the names were understood to say."""

    folder: Path
    reading: str
    paths: list[str]  # relative to `folder`
    columns: dict[str, list[str]]  # `label`, and whatever else there is

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.columns[LABEL])

    def example(self, label: str) -> str:
        return self.paths[self.columns[LABEL].index(label)]

    def as_csv(self, above: str = ".") -> str:
        """`above`: the folder, seen from that of the table."""
        places = ((Path(above) / path).as_posix() for path in self.paths)
        return csv_text([[PATH, *self.columns], *zip(places, *self.columns.values(), strict=True)])


def read_flat_names(folder: Path, pattern: str | None = None) -> FlatNames:
    """Of the images directly in a folder, or in its folders train, val and test.

    Without a pattern the class stands before or behind a number; names that could be read both ways, or not at all, are
    refused.
    """
    paths, splits = _images(folder)
    stems = [Path(path).stem for path in paths]
    if pattern is not None:
        reading, columns = f"the pattern {pattern}", _matched(folder, paths, _compiled(pattern))
    else:
        reading, labels = _understood(folder, paths, stems)
        columns = {LABEL: labels}
    _check_classes(folder, columns[LABEL])
    if splits is not None and SPLIT not in columns:
        columns = {LABEL: columns[LABEL], SPLIT: splits, **columns}
    return FlatNames(folder, reading, paths, columns)


def _images(folder: Path) -> tuple[list[str], list[str] | None]:
    """Names relative to the folder, and the splits that they lie in, if they do."""
    if not folder.is_dir():
        raise UserError(f"there is no folder '{folder}': check the path")
    found = [path.relative_to(folder) for path in visible_files(folder) if looks_like_image(path)]
    if not found:
        raise UserError(f"there are no images in '{folder}': check the path")
    inner = sorted({path.parts[0] for path in found if len(path.parts) > 1})
    if inner and (any(name.lower() not in SPLITS for name in inner) or any(len(path.parts) != 2 for path in found)):
        raise UserError(
            f"'{folder}' has images in '{inner[0]}': if folders are classes no table is needed, and the folder itself "
            "can be given to debias; else give one of its folders"
        )
    return [path.as_posix() for path in found], [path.parts[0] for path in found] if inner else None


def _understood(folder: Path, paths: list[str], stems: list[str]) -> tuple[str, list[str]]:
    """The only reading that fits all names and gives classes."""
    fitting = {}
    for reading, expression in READINGS.items():
        found = [expression.fullmatch(stem) for stem in stems]
        labels = [match["label"].strip(" _-.") for match in found if match]
        if len(labels) == len(stems) and len({*labels}) > 1 and min(Counter(labels).values()) > 1:
            fitting[reading] = labels
    if len(fitting) > 1 or any(TWO_NUMBERS.fullmatch(label) for labels in fitting.values() for label in labels):
        raise UserError(f"'{paths[0]}' in '{folder}' has numbers before and behind its class: {WANTED}")
    if fitting:
        return next(iter(fitting.items()))
    first = next(iter(READINGS.values()))
    odd = [path for path, stem in zip(paths, stems, strict=True) if not first.fullmatch(stem)]
    if odd:
        raise UserError(
            f"{len(odd)} of {len(paths)} names in '{folder}' are not a class and a number, such as '{odd[0]}': "
            f"{WANTED}, or move those images away"
        )
    counts = Counter(match["label"].strip(" _-.") for stem in stems if (match := first.fullmatch(stem)))
    if len(counts) == 1:
        raise UserError(f"all names in '{folder}' begin with '{next(iter(counts))}', which is no class then: {WANTED}")
    rare = min(counts, key=lambda label: counts[label])
    raise UserError(f"'{rare}' would be a class of one image in '{folder}': rename or remove it, or {WANTED}")


def _compiled(pattern: str) -> re.Pattern[str]:
    """`{label}_*` in braces, or a regular expression; either way of the name without its ending."""
    if "{label}" in pattern:
        pieces, end = [], 0
        for found in FIELD.finditer(pattern):
            pieces += [re.escape(pattern[end : found.start()]), f"(?P<{found[1]}>.+?)" if found[1] else ".*"]
            end = found.end()
        pattern = "".join([*pieces, re.escape(pattern[end:])])
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UserError(f"pattern '{pattern}' is not valid: {error}") from None
    if LABEL not in expression.groupindex:
        raise UserError(f"pattern '{pattern}' does not say where the class is: {WANTED}")
    return expression


def _matched(folder: Path, paths: list[str], expression: re.Pattern[str]) -> dict[str, list[str]]:
    """A column for each name in the pattern. It may have the ending of the files or not."""
    found = [expression.fullmatch(Path(path).stem) or expression.fullmatch(Path(path).name) for path in paths]
    odd = [path for path, match in zip(paths, found, strict=True) if match is None or not match["label"]]
    if odd:
        raise UserError(
            f"the pattern fits {len(paths) - len(odd)} of {len(paths)} names in '{folder}', and not '{odd[0]}': change "
            "the pattern, or move those images away"
        )
    return {name: [(match[name] or "") for match in found if match] for name in (LABEL, *expression.groupindex)}


def _check_classes(folder: Path, labels: list[str]) -> None:
    if len({*labels}) == 1:
        raise UserError(f"all images in '{folder}' would be of class '{labels[0]}': {WANTED}")
    alike: dict[str, str] = {}
    for label in sorted({*labels}):
        same = alike.setdefault(re.sub(r"[\W_]+", "", label).casefold(), label)
        if same != label:
            raise UserError(f"'{same}' and '{label}' in '{folder}' may be one class or two: rename the files of one")
