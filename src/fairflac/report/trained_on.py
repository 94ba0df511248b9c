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


def name_of(config: dict[str, Any]) -> str:
    """What a user calls it: a folder or table by its name."""
    path = config.get("data_options", {}).get("path")
    return PurePath(path).name if path else str(config["dataset"])


def title_of(config: dict[str, Any]) -> str:
    """The same as a heading, with its kind, or with how biased it is."""
    options = config.get("data_options", {})
    if "path" in options:
        return f"{name_of(config)} ({config['dataset']})"
    return f"{config['dataset']}, q = {options['q']}" if options.get("q") else str(config["dataset"])


def details_of(config: dict[str, Any]) -> str:
    """All other options that are on."""
    options = config.get("data_options", {})
    return ", ".join(f"{name} = {value}" for name, value in options.items() if value and name not in ("path", "q"))


def data_in_words(config: dict[str, Any]) -> str:
    """Both, for readers elsewhere, to whom the folders of this machine mean nothing."""
    return ", ".join(filter(None, [title_of(config), details_of(config)]))
