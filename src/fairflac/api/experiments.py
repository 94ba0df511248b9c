"""Many runs at once: a search for hyper-parameters, the paper's tables and figures, the demo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairflac.config.options import parse_list
from fairflac.config.settings import arrange
from fairflac.errors import UserError
from fairflac.reproduction.published import official_name
from fairflac.runs.directory import Run, Workspace
from fairflac.system.files import check_folder
from fairflac.system.progress import expect, stages, tell

if TYPE_CHECKING:
    from fairflac.reproduction.pipeline import Reproduction
    from fairflac.reproduction.scheduler import Executor
    from fairflac.tuning.study import TuneResult

DEMO_DATASET = "biased-digits"
DEMO_METHODS = ("vanilla", "flac", "flac-b")


def reproduce(
    name: str,
    *,
    scale: Literal["cpu", "paper"] = "cpu",
    only: Sequence[str] = (),
    q: Sequence[float] = (),
    seeds: int | None = None,
    workspace: Workspace | None = None,
    output: Path | str = Path("results"),
    executor: "Executor | None" = None,
    rebuild: bool = False,
) -> "Reproduction":
    """Make a table or figure of the paper: train what is missing, then write it beside the published values.

    Runs that are done are not trained again; stopped at any moment, the same call goes on. At the scale `cpu` numbers
    are no reproduction, say so, and are never set against the paper's.

    Args:
        name: `table1` to `table12` or its alias, `figure1`, `figure3`, `figure4` or `figure5`.
        scale: the paper's protocol, or one for two cores.
        only: rows of these methods.
        q: columns of these correlations.
        seeds: instead of those of the scale.
        workspace: where runs and data are.
        output: the folder for what comes out.
        executor: who trains; processes of this machine if not given.
        rebuild: train nothing, read the runs that are there.

    Returns:
        The files that were written, their text, and the runs that failed.

    Example:
        >>> made = fairflac.reproduce("table2", only=["vanilla", "flac"])  # doctest: +SKIP
        >>> print(made.text["md"])  # doctest: +SKIP
    """
    name, output, workspace = official_name(name), Path(output), workspace or Workspace()
    check_folder(output)
    if rebuild and not workspace.runs.is_dir():
        raise UserError(f"there is no folder '{workspace.runs}': give one with runs in it")
    if not rebuild:
        check_folder(workspace.runs)
    if (name == "table1" or name.startswith("figure")) and (only or q or seeds):
        raise UserError(f"only, q and seeds are for tables of results: {name} shows what it shows")

    from fairflac.reproduction.local_executor import LocalExecutor
    from fairflac.reproduction.pipeline import make_applicability, make_figure, make_table

    if name == "table1":
        return make_applicability(output)
    trainer = None if rebuild else executor or LocalExecutor()
    if name.startswith("figure"):
        return make_figure(name, scale, workspace, trainer, output)
    return make_table(name, scale, list(only), list(q), seeds, workspace, trainer, output)


def tune(
    dataset: str,
    method: str,
    *,
    trials: int = 20,
    search: Mapping[str, Any] | None = None,
    rule: str = "guessed-groups",
    seed: int = 0,
    workspace: Workspace | None = None,
    settings: Mapping[str, Any] | None = None,
) -> "TuneResult":
    """Search hyper-parameters of a method on a dataset, judged on validation data without attribute labels.

    Every trial is an ordinary run. Stopped or killed, the same call goes on where it was; with more trials it adds
    some. No choice sees the test split. Needs optuna (extra `tune`).

    Args:
        dataset: its name, as in `fairflac list datasets`.
        method: its name, as in `fairflac list methods`.
        trials: how many settings to try, all in all.
        search: for each setting a range `(low, high)` or a list of values; without it the method's first weight, from
            a tenth of the recipe's value to ten times that value.
        rule: how validation predictions are judged: `guessed-groups`, `worst-class`, `accuracy` or `oracle-unbiased`.
        seed: of data, weights and order, and of the search.
        workspace: where runs and data are.
        settings: of all trials, as for `train`: `{"epochs": 12}`.

    Returns:
        All trials, the best of them, and its run.

    Example:
        >>> found = fairflac.tune("biased-digits", "flac", search={"alpha": (1, 1e4)})  # doctest: +SKIP
        >>> found.best.settings, found.run.path  # doctest: +SKIP
    """
    search, changes, workspace = dict(search or {}), dict(settings or {}), workspace or Workspace()
    first = {key: value for key, values in search.items() for value in _values(values)[:1]}
    arrange(dataset, method, changes | first)  # names and values, before torch is imported

    from fairflac.training.pipeline import import_bias_models
    from fairflac.tuning.space import load_optuna, make_plan, make_space
    from fairflac.tuning.study import tune as run_search

    load_optuna()  # what is missing is said before anything else
    import_bias_models(changes, workspace)
    plan = make_plan(dataset, method, seed, changes, make_space(search), rule, workspace.data)
    return run_search(plan, workspace, trials)


def _values(searched: Any) -> list[Any]:
    """The choices of a search, or the low end of its range."""
    return parse_list(searched.partition(":")[0]) if isinstance(searched, str) else list(searched)


@dataclass(frozen=True)
class Demo:
    """What the demo left."""

    runs: list[Run]
    report: Path


def demo(*, seed: int = 0, workspace: Workspace | None = None, settings: Mapping[str, Any] | None = None) -> Demo:
    """Train a vanilla model, FLAC and FLAC-B on 4,000 coloured digits, and write a report. Needs no network."""
    changes, workspace = dict(settings or {}), workspace or Workspace(Path("runs/demo"))
    for method in DEMO_METHODS:
        arrange(DEMO_DATASET, method, changes)

    from fairflac.config.run_config import resolve
    from fairflac.reporting.page import write
    from fairflac.training.pipeline import stage_work, train_config

    configs = [resolve(DEMO_DATASET, method, seed, changes) for method in DEMO_METHODS]
    share = 100 * (1 - configs[0].data_options["q"])
    tell(
        f"Digits on coloured backgrounds: the colour gives the class away, but for {share:.3g} in 100. "
        "Who reads the digit?"
    )
    with stages():
        expect(stage_work(configs, workspace))
        runs = [run for config in configs if (run := train_config(config, workspace))]
    report = workspace.runs / "report.html"
    write(runs, report, title="fairflac demo: does the model read the digit or its colour?")
    return Demo(runs, report)
