"""Tables of words and numbers, aligned for a terminal and as Markdown. Written once, for every command and page."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Literal

Lines = Sequence[Sequence[str]]
RULES = {"<": "---", "^": ":-:", ">": "---:"}  # of Markdown
MEANT = re.compile(r"[\\`*_\[\]|~$]|&(?=[#\w])")  # by Markdown

# What moves the cursor of a terminal, changes its colours or turns the direction of writing; a new line is none of it.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """With names out of files in it, that must not command a terminal."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


# What a spreadsheet takes for a formula, though it is a name; and a name that we have put a quote before.
FORMULA, QUOTED = re.compile(r"'*[=+\-@\t\r]"), re.compile(r"'+[=+\-@\t\r]")


def csv_text(rows: Iterable[Iterable[object]], *, quoted: bool = False) -> str:
    """A table as CSV. A name such as `=1+1` gets a quote before it, which `csv_name` takes away; numbers stay."""
    text = io.StringIO(newline="")
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(text, quoting=quoting, lineterminator="\n")
    writer.writerows([_csv_cell(str(cell)) for cell in row] for row in rows)
    return text.getvalue()


def _csv_cell(cell: str) -> str:
    if not FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def csv_name(cell: str) -> str:
    """A cell as it was before `csv_text` wrote it."""
    return cell[1:] if QUOTED.match(cell) else cell


def text_table(lines: Lines, align: str = "") -> str:
    """Columns as wide as they need to be; `align`: `<` or `>` for each, else the first is left and all others right."""
    lines = [[printable(cell.replace("\n", " ")) for cell in line] for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    sides = align or "<".ljust(len(widths), ">")
    return "\n".join(
        "  ".join(
            cell.ljust(width) if side == "<" else cell.rjust(width)
            for cell, width, side in zip(line, widths, sides, strict=True)
        ).rstrip()
        for line in lines
    )


def markdown_table(head: Sequence[str], rows: Lines, align: str = "") -> str:
    """Of cells that are Markdown; `align`: `<`, `^` or `>` for each column, else all are left."""
    rule = f"|{'|'.join(RULES[side] for side in align or '<' * len(head))}|"
    first, *rest = (f"| {' | '.join(line)} |" for line in (head, *rows))
    return "\n".join([first, rule, *rest])


def escape_markdown(text: str) -> str:
    """A name, or a sentence with names in it, on one line and without a meaning to Markdown or HTML."""
    return MEANT.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;").replace(">", "&gt;")
