"""What classes, attributes and data are called, and what a run was trained on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run

GROUPS = "groups"  # the option of a dataset that names a table of groups
BIAS = ("bias", "q")  # those that say what its shortcut is, and how often it holds


@dataclass(frozen=True)
class Names:
    """A run that did not keep its names has numbers in their place."""

    classes: list[str]
    values: dict[str, list[str]]  # per attribute
    guesses: list[str] = field(default_factory=list)  # values that were guessed in the place of an attribute

    @classmethod
    def of(cls, result: dict[str, Any]) -> "Names":
        values = result.get("attributes") or {}
        return cls(
            list(result.get("classes") or []),
            {name: list(known) for name, known in values.items()},
            list(result.get("guess_values") or []),
        )

    def all_classes(self, table: Predictions) -> list[str]:
        """One name per class that there is, or that was named."""
        most = int(max(table.y.max(initial=-1), table.prediction.max(initial=-1))) + 1
        return [self.of_class(label) for label in range(max(most, len(self.classes)))]

    def of_class(self, y: int) -> str:
        return _at(self.classes, y)

    def of_value(self, attribute: str, value: int) -> str:
        return _at(self.values.get(attribute, []), value)

    def of_guess(self, value: int) -> str:
        return _at(self.guesses, value)

    def of_values(self, table: Predictions, row: int) -> str:
        """All attributes of one image; an attribute that repeats another is the same thing said twice."""
        parts = [self.of_value(name, int(values[row])) for name, values in table.bias.items()]
        return ", ".join(dict.fromkeys(parts))


def known_attribute(table: Predictions) -> str | None:
    """The attribute in a sentence; several that measure the same thing are one. None: it is not known."""
    kinds = dict.fromkeys(table.repeats.get(name, name) for name in table.bias)
    return " or ".join(name.replace("_", " ") for name in kinds) or None


def combinations(table: Predictions) -> np.ndarray:
    """(N,) a number for each combination of attribute values that occurs; all 0 where no attribute is known."""
    if not table.bias:
        return np.zeros(len(table), dtype=np.int64)
    joint: np.ndarray = np.unique(np.stack(list(table.bias.values())), axis=1, return_inverse=True)[1]
    return joint.reshape(-1)


def _at(names: list[str], place: int) -> str:
    return names[place] if 0 <= place < len(names) else str(place)


def is_result(run: Run) -> bool:
    return bool(run.config.get("target", "class") == "class")


def has_groups(config: dict[str, Any]) -> bool:
    """It was trained against groups that were found or given, which stand in for a bias model."""
    return bool(config.get("data_options", {}).get(GROUPS))


def data_of(config: dict[str, Any]) -> str:
    """Dataset and options in one line. Options that are off, such as `validation = 0.0`, are not worth a word, and
    groups are no other images."""
    options = config.get("data_options", {})
    worth = (f"{name} = {value}" for name, value in options.items() if value and name != GROUPS)
    return ", ".join([config["dataset"], *worth])


def name_of(config: dict[str, Any]) -> str:
    """What a user calls it: a folder or table by its name."""
    path = config.get("data_options", {}).get("path")
    return PurePath(path).name if path else str(config["dataset"])


def title_of(config: dict[str, Any]) -> str:
    """The same as a heading, with its kind, or with what is biased in it and how much."""
    options = config.get("data_options", {})
    if "path" in options:
        return f"{name_of(config)} ({config['dataset']})"
    return ", ".join([config["dataset"], *(f"{name} = {options[name]}" for name in BIAS if options.get(name))])


def details_of(config: dict[str, Any]) -> str:
    """All other options that are on."""
    options = config.get("data_options", {})
    known = ("path", *BIAS, GROUPS)
    return ", ".join(f"{name} = {value}" for name, value in options.items() if value and name not in known)


def data_in_words(config: dict[str, Any]) -> str:
    """Both, for readers elsewhere, to whom the folders of this machine mean nothing."""
    return ", ".join(filter(None, [title_of(config), details_of(config)]))


LONGEST = 60  # letters of settings beside a name


def told_apart(configs: Sequence[dict[str, Any]], longest: int = LONGEST) -> list[str] | None:
    """What each has otherwise than the others, such as `alpha = 300.0`; None: that takes too many words.

    Seeds do not count.
    """
    flat = [dict(_leaves(config)) for config in configs]
    names = [name for name in dict.fromkeys(name for one in flat for name in one) if not _alike(flat, name)]
    said = [", ".join(f"{name} = {one[name]}" for name in names if name in one) for one in flat]
    short = all(0 < len(one) <= longest for one in said)
    return said if short and len({*said}) == len(said) else None


def _alike(flat: Sequence[dict[str, Any]], name: str) -> bool:
    return all(name in one and one[name] == flat[0].get(name) for one in flat)


def _leaves(config: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by the names that `--set` takes."""
    for key, value in config.items():
        if key in ("data_options", "net_options", "method_options", "train"):
            yield from _leaves(value, prefix)
        elif isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        elif key == "other_bias_models":
            for number, one in enumerate(value, 2):
                yield from _leaves(one, f"{prefix}{key}.{number}.")
        elif key != "seed":
            yield f"{prefix}{key}", value


class Labels(NamedTuple):
    """For people."""

    cell: str  # of a table
    clause: str  # of a sentence about the model; empty where there is nothing to say


def labels(run: Run, attribute: str = "attribute") -> Labels:
    """From what the run wrote down."""
    config, share = run.config, run.result.get("attribute_labels", 0.0)
    stage_one = config.get("bias_model")
    if share:
        part = "" if share == 1 else f" of {100 * share:.3g} %"
        return Labels(f"class, attribute{part}", f", which had the {attribute} labels{part} of its training images,")
    stages_one = [*([stage_one] if stage_one else []), *config.get("other_bias_models", [])]
    if any(part.get("train", {}).get("selection", "").startswith("oracle") for part in (config, *stages_one)):
        return Labels("class, attribute to select", f", whose checkpoint was chosen with {attribute} labels,")
    if has_groups(config):
        return Labels("class", f", which was trained without a single {attribute} label,")
    if stage_one is None:
        return Labels("class", "")
    target = " and ".join(one.get("target", "class").replace("_", " ") for one in stages_one)
    if {one.get("target", "class") for one in stages_one} == {"class"}:
        return Labels("class", f", which was trained without a single {attribute} label,")
    if any(data_of(one) == data_of(config) for one in stages_one):
        return Labels("class, attribute", f", whose bias model had the {target} labels of the same images,")
    return Labels(
        "class, attribute of other data",
        f", whose bias model learnt the {target} from labels of other data ({data_in_words(stage_one)}),",
    )
