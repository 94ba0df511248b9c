"""Tables of words and numbers, aligned for a terminal and as Markdown. Written once, for every command and page."""

import re
from collections.abc import Sequence

Lines = Sequence[Sequence[str]]
RULES = {"<": "---", "^": ":-:", ">": "---:"}  # of Markdown
MEANT = re.compile(r"[\\`*_\[\]|~$]|&(?=[#\w])")  # by Markdown

# What moves the cursor of a terminal, changes its colours or turns the direction of writing; a new line is none of it.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """With names out of files in it, that must not command a terminal."""
    return CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def text_table(lines: Lines, align: str = "") -> str:
    """Columns as wide as they need to be; `align`: `<` or `>` for each, else the first is left and all others right."""
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
