"""The command that makes a run again."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

SECTIONS = ("data_options", "net_options", "method_options", "train")
WORD = re.compile(r"(?!true$|false$|inf$|nan$)[A-Za-z_][\w./+-]*")  # a text that nothing else than a text can be


def command(config: dict[str, Any]) -> str:
    """Every setting is spelt out, so that it does not depend on the recipes of a later version."""
    words = ["fairflac", "train", config["dataset"], config["method"], "--seed", str(config["seed"])]
    for key, value in _settings(config):
        words += ["--set", f"{key}={written(value)}"]
    return shlex.join(words)


def _settings(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "net", config["net"]
    if config.get("target", "class") != "class":
        yield "target", config["target"]
    yield from _options(config)
    if biased := config.get("biased_net"):
        yield "biased_net.net", biased["net"]
        yield from ((f"biased_net.{key}", value) for key, value in biased.get("net_options", {}).items())
    if stage_one := config.get("bias_model"):
        yield from ((f"bias_model.{key}", stage_one[key]) for key in ("dataset", "method"))
        yield "bias_model.seed", stage_one.get("seed", "run")
        yield "bias_model.target", stage_one.get("target", "class")
        yield from ((f"bias_model.{key}", value) for key, value in _settings({**stage_one, "target": "class"}))


def _options(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """A name that two sections have means the first of them, as on the command line."""
    seen: set[str] = set()
    for section in SECTIONS:
        for key, value in config.get(section, {}).items():
            if key not in seen:
                yield key, value
            seen.add(key)


def written(value: Any) -> str:
    """As TOML; a plain word needs no quotes."""
    return value if isinstance(value, str) and WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)
