"""What a run was trained on, and for what."""

from typing import Any

from fairflac.runs import Run


def is_result(run: Run) -> bool:
    return bool(run.config.get("target", "class") == "class")


def data_of(config: dict[str, Any]) -> str:
    """Dataset and options in one line. Options that are off, such as `validation = 0.0`, are not worth a word."""
    options = config.get("data_options", {})
    return ", ".join([config["dataset"], *(f"{name} = {value}" for name, value in options.items() if value)])
