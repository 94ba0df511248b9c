"""What a run was trained on, and for what."""

from pathlib import PurePath
from typing import Any

from fairflac.runs import Run


def is_result(run: Run) -> bool:
    return bool(run.config.get("target", "class") == "class")


def data_of(config: dict[str, Any]) -> str:
    """Dataset and options in one line. Options that are off, such as `validation = 0.0`, are not worth a word."""
    options = config.get("data_options", {})
    return ", ".join([config["dataset"], *(f"{name} = {value}" for name, value in options.items() if value)])


def data_in_words(config: dict[str, Any]) -> str:
    """The same for readers elsewhere, to whom the folders of this machine mean nothing."""
    options = dict(config.get("data_options", {}))
    if "path" in options:
        options["path"] = PurePath(options["path"]).name
    return data_of({**config, "data_options": options})
