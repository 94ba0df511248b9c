"""A search as it was asked for, checked before anything is trained."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from fairflac.config.names import known
from fairflac.config.run_config import RunConfig, resolve
from fairflac.config.settings import without
from fairflac.errors import UserError, unknown
from fairflac.metrics.selection import ORACLE, VALIDATION_RULES
from fairflac.system.progress import tell
from fairflac.tuning.space import Settings, Space, default_space

HELD_OUT = 0.2  # of the training images, where a recipe keeps no validation data


@dataclass(frozen=True)
class Plan:
    """Everything that decides which trials there are, but for their number."""

    dataset: str
    method: str
    seed: int
    changes: dict[str, Any]  # of the recipe, the same in all trials
    space: Space
    rule: str

    @property
    def base(self) -> RunConfig:
        """The recipe with what all trials have in common."""
        return resolve(self.dataset, self.method, self.seed, self.changes)

    @property
    def guesser(self) -> RunConfig:
        """The model whose guesses form groups: GCE leans on what is easy, and needs no attribute labels."""
        own = ("bias_model", "biased_net", "selection")
        shared = {key: value for key, value in self.changes.items() if key.partition(".")[0] not in own}
        return resolve(self.dataset, "gce", self.seed, without(shared, known("method", self.method).options))

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
        """What a trial gives to `--set`."""
        return self.changes | _stage_one_as_it_is(self.base, self.changes, self.space) | chosen

    def config(self, chosen: Settings) -> RunConfig:
        config = resolve(self.dataset, self.method, self.seed, self.settings(chosen))
        if (config.data_options, config.target) != (self.base.data_options, self.base.target):
            raise UserError(f"--search {next(iter(chosen))}: a search keeps its data, or trials could not be compared")
        if config.train.selection.startswith(ORACLE) and not self.rule.startswith(ORACLE):
            raise UserError(
                f"selection = '{config.train.selection}' uses attribute labels, --rule {self.rule} must not"
            )
        return config


def make_plan(dataset: str, method: str, seed: int, changes: dict[str, Any], space: Space, rule: str) -> Plan:
    """Checked: every setting exists, and every value in the space is one that it may have."""
    if rule not in VALIDATION_RULES:
        unknown("validation rule", rule, VALIDATION_RULES)
    for key in space:
        if key in changes:
            raise UserError(f"{key} is in --set and in --search: give it once")
    base = resolve(dataset, method, seed, changes)
    if base.data_options.get("validation") == 0 and "validation" not in changes:
        tell(f"{dataset} keeps no validation data: {HELD_OUT:.0%} of its training images are held out for this search")
        changes = changes | {"validation": HELD_OUT}
    plan = Plan(dataset, method, seed, changes, space or default_space(base), rule)
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
