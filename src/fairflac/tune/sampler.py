"""Which settings to try next: optuna's tree-structured Parzen estimator (TPE)."""

from collections.abc import Sequence
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np

from fairflac.errors import UserError
from fairflac.tune.space import Choices, Range, Space

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
