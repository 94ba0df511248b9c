"""A filled table as Markdown, LaTeX, CSV and JSON."""

import csv
import io
import json
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fairflac.reproduction.paper.published import Value
from fairflac.reproduction.plan import Cell, Filled, Head

NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class Style:
    """How one kind of page writes what both have."""

    bold: Callable[[str], str]
    mark: Callable[[str], str]  # of a note
    plus_minus: str
    minus: str
    escape: Callable[[str], str]


MARKDOWN = Style(
    "**{}**".format, "<sup>{}</sup>".format, " ± ", "\N{MINUS SIGN}", lambda text: text.replace("|", r"\|")
)
_LATEX_SPECIAL = {letter: "\\" + letter for letter in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "≠": r"$\neq$",
    NOTHING: "--",
}
LATEX = Style(
    r"\textbf{{{}}}".format,
    r"\textsuperscript{{{}}}".format,
    r"$\pm$",
    "$-$",
    lambda text: "".join(_LATEX_SPECIAL.get(letter, letter) for letter in text),
)


def markdown(table: Filled) -> str:
    """Title, table, notes."""
    head, rows, reasons = _texts(table, MARKDOWN)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    below = "\n".join(f"- {note}" for note in (*table.notes, *reasons))
    return f"### {_title(table)}\n\n{body}\n\n{below}\n"


def latex(table: Filled) -> str:
    """A floating table with booktabs' rules; the notes are its caption's end and comments."""
    head, rows, reasons = _texts(table, LATEX)
    body = [" & ".join(cells) + r" \\" for cells in (head, *rows)]
    body.insert(1, r"\midrule")
    notes = " ".join(LATEX.escape(f"{note}.") for note in (*table.notes, *reasons))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{LATEX.escape(_title(table))}. {notes}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"\toprule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def as_csv(table: Filled) -> str:
    """One line per cell."""
    records = list(table.records())
    out = io.StringIO()
    writer = csv.DictWriter(out, records[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**record, "values": " ".join(map(repr, record["values"]))} for record in records)
    return out.getvalue()


def as_json(table: Filled) -> str:
    page = {"table": table.name, "title": _title(table), "notes": table.notes, "cells": list(table.records())}
    return json.dumps(page, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Filled], str]] = {"md": markdown, "tex": latex, "csv": as_csv, "json": as_json}


def _title(table: Filled) -> str:
    return table.title + (" \N{EM DASH} reduced scale, not the paper's protocol" if table.reduced else "")


def _texts(table: Filled, style: Style) -> tuple[list[str], list[list[str]], list[str]]:
    """Head, rows, and the reasons for gaps, each with the mark it has in the table."""
    reasons: dict[str, str] = {}  # reason → mark
    rows = []
    for name, cells in table.rows.items():
        row = [style.escape(name)]
        for column, (head, cell) in enumerate(zip(table.heads, cells, strict=True)):
            row += _cell(table, column, head, cell, style, reasons)
        rows.append(row)
    titles = ["method"]
    for shown in table.heads:
        theirs = ", ".join(filter(None, ["paper", shown.paper_name, "full scale" if table.reduced else ""]))
        titles += [style.escape(shown.name), style.escape(theirs)]
        titles += [] if table.reduced else ["difference"]
    return titles, rows, [f"{mark}: {reason}" for reason, mark in reasons.items()]


def _cell(table: Filled, column: int, head: Head, cell: Cell, style: Style, reasons: dict[str, str]) -> Iterator[str]:
    """Ours, the paper's and, at full scale, how far apart they are."""
    ours = style.escape(NOTHING)
    if cell.mean is not None:
        ours = _number(cell.mean, cell.std, head, style)
        if table.printed(cell, head) == table.best(column):
            ours = style.bold(ours)
        ours += f" ({len(cell.values)}{', cpu' if table.reduced else ''})"
    if cell.missing:
        ours += style.mark(reasons.setdefault(cell.missing, _mark(len(reasons))))
    yield ours
    yield _published(table, column, head, cell.published, style)
    if not table.reduced:
        yield _difference(cell.difference, head, style)


def _mark(number: int) -> str:
    """a to z, then aa, ab, …: when many runs fail, each has a reason of its own."""
    more, letter = divmod(number, len(string.ascii_lowercase))
    return (_mark(more - 1) if more else "") + string.ascii_lowercase[letter]


def _published(table: Filled, column: int, head: Head, value: Value | None, style: Style) -> str:
    if value is None:
        return style.escape(NOTHING)
    text = _number(value.mean, value.std, head, style)
    return style.bold(text) if round(value.mean, head.digits) == table.best(column, published=True) else text


def _number(mean: float, std: float | None, head: Head, style: Style) -> str:
    text = f"{mean:.{head.digits}f}"
    return text if std is None else f"{text}{style.plus_minus}{std:.{head.digits}f}"


def _difference(value: float | None, head: Head, style: Style) -> str:
    return style.escape(NOTHING) if value is None else f"{value:+.{head.digits}f}".replace("-", style.minus)
