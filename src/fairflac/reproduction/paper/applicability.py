"""Table 1: where a method can be applied, from what it declares and what its recipe trains first."""

import json

from fairflac.config.run_config import resolve
from fairflac.methods import METHODS

TICKS = {True: "✓", False: "✗", None: "n.a."}
COLUMNS = ("no labels in D", "no labels in D'", "non-categorical bias")
FIRST_STAGES = ("gce", "gce-committee")  # no competitors, but bias models of others


Ticks = tuple[bool, bool | None, bool]  # None: not applicable


def applicability() -> dict[str, Ticks]:
    """Of each method: without attribute labels of the data D, without any of other data D', for bias without values."""
    ticks: dict[str, Ticks] = {}
    for name, method in METHODS.items():
        if name in FIRST_STAGES:
            continue
        stage_one = resolve("biased-mnist", name).stage_one()
        elsewhere = stage_one is not None and stage_one.target != "class"  # a bias model that needs labels of its own
        in_d = not method.uses_bias_labels
        ticks[name] = (in_d, not elsewhere if in_d else None, in_d and not elsewhere)
    return ticks


def applicability_page() -> str:
    """As Markdown."""
    lines = [["method", *COLUMNS], ["---", ":-:", ":-:", ":-:"]]
    lines += [[name, *(TICKS[tick] for tick in row)] for name, row in applicability().items()]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return f"### Table 1: Where each method can be applied\n\n{body}\n\n- D: the training data, D': any other data\n"


def applicability_json() -> str:
    """The same for programs; null: not applicable."""
    rows = [{"method": name, **dict(zip(COLUMNS, row, strict=True))} for name, row in applicability().items()]
    return json.dumps(rows, indent=1) + "\n"
