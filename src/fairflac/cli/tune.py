"""`fairflac tune DATASET METHOD`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Data, DatasetName, Json, Logger, LoggerChoice, MethodName, Runs, Seed, Set, echo
from fairflac.config import plugins
from fairflac.errors import UserError
from fairflac.system.files import data_root

RUNS = Path("runs")
RULE_HELP = (
    "How validation predictions are judged. guessed-groups: mean accuracy over groups of class and guess of a bias "
    "model (gce). worst-class: of the worst class. accuracy: favours the biased model where validation data are "
    "biased. oracle-unbiased: with attribute labels."
)


def tune_command(
    dataset: Annotated[str, DatasetName],
    method: Annotated[str, MethodName],
    data: Data,
    runs: Runs = RUNS,
    seed: Seed = 0,
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many settings to try, all in all.")] = 20,
    searches: Annotated[
        list[str],
        typer.Option("--search", metavar="KEY=LOW:HIGH|KEY=A,B,C", help="A setting to search; may be repeated."),
    ] = [],  # noqa: B006 (typer copies it)
    changes: Set = [],  # noqa: B006
    rule: Annotated[str, typer.Option("--rule", metavar="NAME", help=RULE_HELP)] = "guessed-groups",
    logger: Logger = LoggerChoice.auto,
    json: Json = False,
) -> None:
    """Search hyper-parameters of METHOD on DATASET, judged on validation data without attribute labels.

    Without --search: the first weight of the method (alpha of flac and flac-b), from a tenth of the recipe's value to
    ten times that value. A range is on a log scale if its ends are positive and a factor of ten apart, and of whole
    numbers if both ends are written as such (1:64, not 1.0:64).

    Every trial is an ordinary run. Stopped or killed, the same command goes on where it was; with more --trials it adds
    some. No choice sees the test split; its numbers are shown for the chosen run alone.
    """
    from fairflac.api.experiments import tune
    from fairflac.config.options import parse_assignments
    from fairflac.runs.directory import Workspace

    found = tune(
        dataset,
        method,
        trials=trials,
        search=_searched(searches),
        rule=rule,
        seed=seed,
        workspace=Workspace(runs, data, logger=logger.value),
        settings=parse_assignments(changes),
    )

    from fairflac.tuning.study import as_json, as_text, train_command

    places = [("--runs", runs, RUNS), ("--data", data, data_root())]
    changed = [word for name, here, usual in places if here != usual for word in (name, str(here))]
    command = train_command(found, *changed, *plugins.as_words())
    echo(as_json(found, command) if json else as_text(found, command))


def _searched(texts: list[str]) -> dict[str, str]:
    """`["alpha=1:1e4", "task=ce,supcon"]` → values by setting."""
    found: dict[str, str] = {}
    for text in texts:
        key, _, values = (part.strip() for part in text.partition("="))
        if not key or not values:
            raise UserError(f"--search {text}: expected KEY=LOW:HIGH or KEY=A,B,C, for example --search alpha=1:1e4")
        if key in found:
            raise UserError(f"--search {key} is given twice: give it once")
        found[key] = values
    return found
