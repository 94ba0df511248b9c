"""Notebooks from the scripts of examples/, with what their cells put out: `python docs/tools/notebooks.py [NAME…]`.

A script is the one source: `# %% [markdown]` begins a cell of text, `# %%` one of code. A cell's output is what it
printed and the figures that it showed. Each script runs in an empty folder of its own.
"""

import base64
import io
import json
import os
import re
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
MARK = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
Cell = dict[str, Any]


def cells(script: str) -> list[Cell]:
    """The cells of a script, without outputs."""
    _, *parts = MARK.split(script)
    found = []
    for number, (mark, text) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        kind = "markdown" if mark else "code"
        if mark:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
        cell: Cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines(text.strip("\n"))}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        found.append(cell)
    return found


def lines(text: str) -> list[str]:
    """As notebooks keep text."""
    return text.splitlines(keepends=True)


def run(made: list[Cell], name: str) -> list[Cell]:
    """Run all cells of code in the current folder, one after the other, and keep their outputs."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in made:
        if cell["cell_type"] != "code":
            continue
        number += 1
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), names)
        cell["execution_count"] = number
        if printed.getvalue():
            cell["outputs"].append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
        for figure in map(plt.figure, plt.get_fignums()):
            cell["outputs"].append(shown(figure))
        plt.close("all")
    return made


def shown(figure: Any) -> dict[str, Any]:
    """A figure as a notebook keeps it; its title is what is read out in its place."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, bbox_inches="tight")
    title = figure.get_suptitle() or figure.axes[0].get_ylabel()
    data = {"image/png": base64.b64encode(content.getvalue()).decode(), "text/plain": [title]}
    return {"output_type": "display_data", "data": data, "metadata": {"alt": title}}


def notebook(made: list[Cell]) -> str:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def main(wanted: list[str]) -> None:
    for script in sorted(EXAMPLES.glob("*.py")):
        if wanted and script.stem not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            os.environ["FAIRFLAC_DATA"] = f"{folder}/data"
            made = run(cells(script.read_text()), script.name)
        script.with_suffix(".ipynb").write_text(notebook(made))
        print(script.with_suffix(".ipynb"))


if __name__ == "__main__":
    main(sys.argv[1:])
