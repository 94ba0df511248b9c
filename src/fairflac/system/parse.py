"""TOML and JSON that anybody may have written: whatever is wrong with it is a ValueError that says what."""

import json
import tomllib
from typing import Any

LONGEST_TOML = 100_000  # letters; a config has a few thousand, and a million may take the parser ten seconds
DEEPEST_KEY = 100  # parts of a dotted key, for whose number the parser takes its square in time


def parse_toml(text: str) -> dict[str, Any]:
    if len(text) > LONGEST_TOML or any(line.partition("=")[0].count(".") > DEEPEST_KEY for line in text.splitlines()):
        raise ValueError("it is too long for a config, or one of its lines is")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
