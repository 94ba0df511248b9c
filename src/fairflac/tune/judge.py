"""A trained run → its score on the validation split. The test split is never loaded here."""

from dataclasses import dataclass

import numpy as np

from fairflac.build import load_split
from fairflac.config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.errors import UserError
from fairflac.metrics.pseudo import NAME, with_guess, with_pseudo_groups
from fairflac.runs import Run
from fairflac.train import Place, train
from fairflac.tune.rules import GUESSED, ORACLE, VALIDATION_RULES
from fairflac.validation import predict, without_labels


@dataclass(frozen=True)
class Judge:
    """One validation split and one rule for all trials."""

    rule: str
    data: BiasedDataset
    guess: np.ndarray | None  # (N,) the class that a bias model names, for the rule that needs it
    against: int | None  # images whose guess does not go with their class: these decide

    def score(self, run: Run) -> float:
        table = predict(run, self.data)
        if not self.rule.startswith(ORACLE):
            table = without_labels(table)
        return VALIDATION_RULES[self.rule](table if self.guess is None else with_guess(table, self.guess))


def make_judge(rule: str, config: RunConfig, guesser: RunConfig, place: Place) -> Judge:
    """For runs of the data of `config`. `guesser` is trained if the rule asks for it, as a run like any other."""
    data = load_split(config, place.data, "validation")
    if data is None or not len(data):
        raise UserError(f"{config.dataset} has no validation data here, and a search cannot do without")
    if rule.startswith(ORACLE) and not data.bias:
        raise UserError(f"--rule {rule} needs attribute labels, and {config.dataset} has none for this target")
    if rule != GUESSED:
        return Judge(rule, data, None, None)
    run = train(guesser, place, as_bias_model=True)
    assert run is not None  # one process
    table = without_labels(predict(run, data))
    pseudo = with_pseudo_groups(with_guess(table, table.prediction))
    assert pseudo is not None
    return Judge(rule, data, table.prediction, int(np.sum(~pseudo.aligned[NAME])))
