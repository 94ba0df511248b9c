"""The header of a model card that model hubs read, in YAML."""

import json
import re
from collections.abc import Iterator
from typing import Any

from fairflac.metrics import Measured
from fairflac.report.trained_on import name_of
from fairflac.runs import Run

PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)$)[a-z][\w.-]*", re.IGNORECASE)  # only ever a text
TAGS = ("fairness", "debiasing", "shortcut-learning")


def header(run: Run, numbers: dict[str, Measured], licence: str) -> str:
    config = run.config
    results = {
        "task": {"type": "image-classification"},
        "dataset": {"name": name_of(config), "type": config["dataset"], "split": "test"},
        "metrics": [
            {"type": name.partition(":")[0], "name": name.replace("_", " "), "value": round(number.value, 4)}
            for name, number in numbers.items()
        ],
    }
    card = {
        "license": licence,
        "library_name": "fairflac",
        "pipeline_tag": "image-classification",
        "tags": [*TAGS, config["method"]],
        "metrics": ["accuracy"],
        "model-index": [{"name": f"{config['method']} on {name_of(config)}", "results": [results]}],
    }
    return "\n".join(["---", *yaml_lines(card), "---"])


def yaml_lines(value: Any) -> Iterator[str]:
    """Mappings and lists a line each, everything else as JSON, which is YAML too."""
    entries = value.items() if isinstance(value, dict) else ((None, one) for one in value)
    for key, one in entries:
        start = "-" if key is None else f"{key}:"
        if not isinstance(one, dict | list) or not one:
            yield f"{start} {_scalar(one)}"
            continue
        inner = list(yaml_lines(one))
        if key is None:  # the first line of an entry stands beside its dash
            yield f"- {inner[0]}"
            yield from (f"  {line}" for line in inner[1:])
        else:
            yield start
            yield from (f"  {line}" for line in inner)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) and PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)
