"""What a search tries: a range or a few choices for each setting."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from annotated_types import Le, Lt

from fairflac.config.options import lookup, options_of, parse_list
from fairflac.config.run_config import RunConfig, resolve
from fairflac.config.settings import without
from fairflac.errors import UserError, unknown
from fairflac.methods import METHODS
from fairflac.metrics.selection import ORACLE, VALIDATION_RULES
from fairflac.system.progress import tell

DECADE = 10.0


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`, or the whole ones if both ends are written as such."""

    low: float
    high: float

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def log(self) -> bool:
        """Is every power of ten as likely as the next? Otherwise a wide range would hardly see its small numbers."""
        return self.low > 0 and self.high >= DECADE * self.low

    @property
    def size(self) -> float:
        return self.high - self.low + 1 if self.whole else math.inf

    @property
    def examples(self) -> tuple[Any, ...]:
        """Values that are valid only if all are: the ends, and a fraction if fractions will be tried."""
        return (self.low, self.high) if self.whole else (self.low, self.high, self.low + (self.high - self.low) / 3.7)

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high and (not self.whole or value == round(value))

    def __str__(self) -> str:
        kind = ", whole numbers" if self.whole else ""
        return f"{self.low:g} to {self.high:g}{kind}{', log scale' if self.log else ''}"


@dataclass(frozen=True)
class Choices:
    """A few values."""

    values: tuple[Any, ...]

    @property
    def size(self) -> float:
        return len(self.values)

    @property
    def examples(self) -> tuple[Any, ...]:
        return self.values

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return " or ".join(map(str, self.values))


Space: TypeAlias = dict[str, Range | Choices]


def size(space: Space) -> float:
    """How many different settings there are."""
    return math.prod(dimension.size for dimension in space.values())


def describe(space: Space) -> str:
    return "; ".join(f"{key} {dimension}" for key, dimension in space.items())


def make_space(search: Mapping[str, Any]) -> Space:
    """`{"alpha": (1, 1e4), "task": ["ce", "supcon"]}` → a space; texts such as `1:1e4` and `ce,supcon` will do too."""
    space: Space = {}
    for key, values in sorted(search.items()):  # the same search, in whatever order it was given
        where = f"search of {key}"
        if isinstance(values, str):
            space[key] = _range(values, where) or _checked_choices(parse_list(values), where)
        elif isinstance(values, tuple):
            space[key] = _checked_range(Range(*values), where)
        else:
            space[key] = _checked_choices(list(values), where)
    return space


def _range(text: str, where: str) -> Range | None:
    low, colon, high = text.partition(":")
    try:
        found = Range(_number(low), _number(high)) if colon else None
    except ValueError:
        return None  # words with a colon in them
    return found and _checked_range(found, where)


def _checked_range(found: Range, where: str) -> Range:
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        raise UserError(f"{where}: both ends must be finite")
    if found.low >= found.high:
        raise UserError(f"{where}: the range is empty: its low end must be below its high end")
    return found


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _checked_choices(found: list[Any], where: str) -> Choices:
    if "" in found or any(value in found[:place] for place, value in enumerate(found)):
        raise UserError(f"{where}: a choice is empty or stands there twice")
    if len(found) < 2:
        raise UserError(f"{where}: one value leaves nothing to search: give a range or several values, or set it")
    return Choices(tuple(found))


def default_space(config: RunConfig) -> Space:
    """A decade below and above the recipe's value of the method's first weight.

    That is its first number above 0 without an upper limit, such as alpha of FLAC; constructors begin with what weighs
    the terms of the loss. A method that has only numbers with a limit, as GCE, has the first of these searched; of a
    share below 1, such as strength of FLAC-plus, the decades are those of share / (1 - share).
    """
    fields = options_of(METHODS[config.method]).model_fields
    limits = {
        key: {type(limit): limit for limit in fields[key].metadata}
        for key, value in config.method_options.items()
        if isinstance(value, float) and value > 0
    }
    free = [key for key, found in limits.items() if not found.keys() & {Le, Lt}]
    limited = [key for bound in (Le, Lt) for key, found in limits.items() if bound in found]
    if not free + limited:
        raise UserError(
            f"'{config.method}' has no weight to search: name a setting to search, for example lr=1e-4:1e-2"
        )
    key = (free + limited)[0]
    value = config.method_options[key]
    if Lt in limits[key]:
        odds = value / (1 - value)
        low, high = (_short(one / (1 + one)) for one in (odds / DECADE, odds * DECADE))
        return {key: Range(low, high)}
    highest = limits[key][Le].le if Le in limits[key] else math.inf
    return {key: Range(_short(value / DECADE), min(_short(value * DECADE), highest))}


def _short(value: float) -> float:
    return float(f"{value:.6g}")


DIGITS = 3  # of a number that is tried: more would pretend to a precision that no search has

Settings = dict[str, Any]


def load_optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise UserError('fairflac tune needs optuna: pip install "fairflac[tune]"') from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def propose(space: Space, finished: Sequence[tuple[Settings, float]], seed: int) -> Settings:
    """New settings, never ones that are finished: there must be some left.

    A function of its arguments alone. So a search that was killed goes on with the settings it was killed in, and ends
    as one that never was.
    """
    tried = [settings for settings, _ in finished]
    for attempt in count():
        stream = int(np.random.SeedSequence([seed, len(finished), attempt]).generate_state(1)[0])
        # In a small space TPE names its favourite again and again, and rounding makes a narrow one small: then any
        # other settings will do, to the last digit.
        settings = _ask(space, finished, stream, blindly=attempt > 0)
        if settings not in tried:
            return settings
    raise AssertionError("count() never ends")


def _ask(space: Space, finished: Sequence[tuple[Settings, float]], seed: int, blindly: bool) -> Settings:
    optuna = load_optuna()
    samplers = optuna.samplers
    sampler = samplers.RandomSampler(seed=seed) if blindly else samplers.TPESampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {key: _distribution(dimension, optuna.distributions) for key, dimension in space.items()}
    for settings, value in finished:
        known = {key: _to_optuna(space[key], settings[key]) for key in space}
        study.add_trial(optuna.trial.create_trial(params=known, distributions=distributions, value=value))
    asked = study.ask(distributions).params
    return {key: _from_optuna(space[key], asked[key], exactly=blindly) for key in space}


def _distribution(dimension: Range | Choices, kinds: ModuleType) -> Any:
    if isinstance(dimension, Choices):
        return kinds.CategoricalDistribution(range(len(dimension.values)))  # by place: optuna knows no lists
    kind = kinds.IntDistribution if dimension.whole else kinds.FloatDistribution
    return kind(dimension.low, dimension.high, log=dimension.log)


def _to_optuna(dimension: Range | Choices, value: Any) -> Any:
    return dimension.values.index(value) if isinstance(dimension, Choices) else value


def _from_optuna(dimension: Range | Choices, value: Any, exactly: bool) -> Any:
    if isinstance(dimension, Choices):
        return dimension.values[value]
    rounded = float(f"{value:.{DIGITS}g}")
    return value if exactly or dimension.whole or rounded not in dimension else rounded


HELD_OUT = 0.2  # of the training images, where a recipe keeps no validation data


@dataclass(frozen=True)
class SearchPlan:
    """Everything that decides which trials there are, but for their number."""

    dataset: str
    method: str
    seed: int
    changes: dict[str, Any]  # of the recipe, the same in all trials
    space: Space
    rule: str
    data: Path | None = None  # the folder of datasets, see `resolve`

    @property
    def base(self) -> RunConfig:
        """The recipe with what all trials have in common."""
        return resolve(self.dataset, self.method, self.seed, self.changes, self.data)

    @property
    def guesser(self) -> RunConfig:
        """The model whose guesses form groups: GCE leans on what is easy, and needs no attribute labels."""
        own = ("bias_model", "biased_net", "selection")
        shared = {key: value for key, value in self.changes.items() if key.partition(".")[0] not in own}
        changes = without(shared, lookup("method", self.method).options)
        return resolve(self.dataset, "gce", self.seed, changes, self.data)

    @property
    def id(self) -> str:
        """Names the record of this search."""
        content = [self.base.run_id, self.seed, self.guesser.run_id, repr(self.space), self.rule]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:10]

    @property
    def start(self) -> Settings | None:
        """The recipe's own values, if all are known and in the space: the first trial, to compare with."""
        base = self.base
        known = {**base.train.model_dump(), **base.method_options, **base.net_options, "net": base.net}
        if all(key in known and known[key] in dimension for key, dimension in self.space.items()):
            return {key: known[key] for key in self.space}
        return None

    def settings(self, chosen: Settings) -> dict[str, Any]:
        """Of a trial, as `train` takes them."""
        return self.changes | _stage_one_as_it_is(self.base, self.changes, self.space) | chosen

    def config(self, chosen: Settings) -> RunConfig:
        config = resolve(self.dataset, self.method, self.seed, self.settings(chosen), self.data)
        if (config.data_options, config.target) != (self.base.data_options, self.base.target):
            raise UserError(f"search of {next(iter(chosen))}: a search keeps its data, or trials could not be compared")
        if config.train.selection.startswith(ORACLE) and not self.rule.startswith(ORACLE):
            raise UserError(
                f"selection = '{config.train.selection}' uses attribute labels, the rule {self.rule} must not"
            )
        return config


def make_plan(
    dataset: str,
    method: str,
    seed: int,
    changes: dict[str, Any],
    space: Space,
    rule: str,
    data: Path | None = None,
) -> SearchPlan:
    """Checked: every setting exists, and every value in the space is one that it may have."""
    if rule not in VALIDATION_RULES:
        unknown("validation rule", rule, VALIDATION_RULES)
    for key in space:
        if key in changes:
            raise UserError(f"{key} is set and searched: do one of them")
    base = resolve(dataset, method, seed, changes, data)
    if base.data_options.get("validation") == 0 and "validation" not in changes:
        tell(f"{dataset} keeps no validation data: {HELD_OUT:.0%} of its training images are held out for this search")
        changes = changes | {"validation": HELD_OUT}
    plan = SearchPlan(dataset, method, seed, changes, space or default_space(base), rule, data)
    for key, dimension in plan.space.items():
        for value in dimension.examples:
            plan.config({key: value})
    return plan


def _stage_one_as_it_is(base: RunConfig, changes: dict[str, Any], space: Space) -> dict[str, Any]:
    """A bias model follows the settings of its run; here it must not, or every trial would train its own."""
    if base.bias_model is None or isinstance(changes.get("bias_model"), str):
        return {}
    stage_one = {**base.bias_model.train.model_dump(exclude_none=True), **base.bias_model.net_options}
    return {f"bias_model.{key}": stage_one[key] for key in space if key in stage_one}
