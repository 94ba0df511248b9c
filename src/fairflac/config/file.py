"""A config file, as every run writes one (`config.toml`): all its settings, read back, with changes on top.

It takes the place of a recipe: what it says holds, whatever the recipes of this version say. Imports no torch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairflac.config.options import lookup, training_options
from fairflac.config.settings import MAX_SEED, OTHERS, beside_first, overlay, split_stage_one, tables
from fairflac.errors import UserError, unknown
from fairflac.runs.directory import CONFIG
from fairflac.system.parse import parse_toml

SECTIONS = ("data_options", "net_options", "method_options", "train")
KEYS = ("dataset", "method", "net", "seed", "target", *SECTIONS, "bias_model", OTHERS, "biased_net")


@dataclass(frozen=True)
class ConfigFile:
    """A run in words."""

    dataset: str
    method: str
    seed: int
    settings: dict[str, Any]  # as `--set` names them

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """With changes on top. A setting that the bias model shares with its run changes in both."""
        own, own_stage_one = split_stage_one(dict(changes))
        base, stage_one = split_stage_one(self.settings)
        if "kind" in own_stage_one:
            raise UserError(
                "bias_model.kind names a recipe, and a config file stands in for those: change single settings"
            )
        if "run" in own_stage_one:
            stage_one = {}
        if stage_one:
            own_stage_one = {**self._shared(own, base, stage_one), **own_stage_one}
            stage_one = overlay(stage_one, own_stage_one)
        else:
            stage_one = own_stage_one
        others = {}
        if OTHERS in own:
            others = {OTHERS: [beside_first(stage_one, table) for table in tables(own[OTHERS])]}
        elif OTHERS in base:
            others = {OTHERS: [overlay(table, self._shared(own, base, table)) for table in base[OTHERS]]}
        return {
            **overlay(base, own),
            **{f"bias_model.{key}": value for key, value in stage_one.items()},
            **others,
        }

    def _shared(self, own: dict[str, Any], base: dict[str, Any], stage_one: dict[str, Any]) -> dict[str, Any]:
        names = {"net", *lookup("net", str(stage_one["net"])).options, *training_options().options} - {"bias_features"}
        if stage_one["dataset"] == self.dataset:
            names |= {*lookup("dataset", self.dataset).options}
        return {key: own[key] for key in own if key in names and base.get(key) == stage_one.get(key)}


def read_config(path: Path) -> ConfigFile:
    """Of a file, or of a run directory."""
    file = path / CONFIG if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"there is no config file '{file}': give the {CONFIG} of a run, or its folder")
    try:
        content = parse_toml(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"'{file}' is no text: give the {CONFIG} of a run") from error
    except ValueError as error:
        raise UserError(f"'{file}' is not TOML: {error}") from error
    _check(file, content)
    seed = content["seed"]
    if type(seed) is not int or not 0 <= seed <= MAX_SEED:
        raise UserError(f"'{file}': seed = {seed!r} is not valid, give a whole number from 0 to {MAX_SEED}")
    return ConfigFile(content["dataset"], content["method"], seed, dict(settings_of(content)))


def _check(file: Path, content: dict[str, Any], where: str = "") -> None:
    """Its form; which names and values are valid is for those to say that they belong to."""
    for key, value in content.items():
        if key not in KEYS:
            unknown("key", key, KEYS, f"in '{file}'{where}")
        if key == OTHERS:
            for number, other in enumerate(tables(value), 2):
                _check(file, other, f", bias model {number}")
            continue
        table = key in (*SECTIONS, "bias_model", "biased_net")
        if table != isinstance(value, dict) or (not table and key != "seed" and not isinstance(value, str)):
            raise UserError(
                f"'{file}'{where}: {key} = {value!r} is not valid, it should be a {'table' if table else 'text'}"
            )
    needed = ("dataset", "method", "net", *(() if where else ("seed",)))
    for key in needed:
        if key not in content:
            raise UserError(
                f"'{file}'{where} has no {key}: a config file has all settings of a run; to change some of a recipe, "
                "name dataset and method and set those"
            )
    if "bias_model" in content:
        _check(file, content["bias_model"], ", bias_model")
    if not {*content.get("biased_net", {})} <= {"net", "net_options"}:
        raise UserError(f"'{file}'{where}: biased_net has net and net_options, and nothing else")


def settings_of(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every setting by the name that `--set` knows it by."""
    yield "net", config["net"]
    if config.get("target", "class") != "class":
        yield "target", config["target"]
    yield from _options(config)
    if biased := config.get("biased_net"):
        yield "biased_net.net", biased["net"]
        yield from ((f"biased_net.{key}", value) for key, value in biased.get("net_options", {}).items())
    if stage_one := config.get("bias_model"):
        yield from ((f"bias_model.{key}", value) for key, value in _stage_one(stage_one).items())
    if others := config.get(OTHERS):
        yield OTHERS, [_stage_one(one) for one in others]


def _stage_one(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of a bias model."""
    own = {key: config[key] for key in ("dataset", "method")}
    own |= {"seed": config.get("seed", "run"), "target": config.get("target", "class")}
    return own | dict(settings_of({**config, "target": "class"}))


def _options(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A name that two sections have means the first of them, as on the command line."""
    seen: set[str] = set()
    for section in SECTIONS:
        for key, value in config.get(section, {}).items():
            if key not in seen:
                yield key, value
            seen.add(key)
