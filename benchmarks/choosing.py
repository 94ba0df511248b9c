"""What does it cost to choose a model without labels of the attribute?

    python benchmarks/choosing.py RUNS [RUNS ...] [--data DATA] [--each]

Reads finished runs. Those of one dataset, its options and one seed are candidates for the same images: a rule scores
each on their validation images, and its regret is how many points of unbiased accuracy of the test images the best
candidate has more than the one that the rule takes. "the ordinary model" takes vanilla, as somebody does who does not
debias. For `guessed-groups` a guess is needed, and there are three:

- the bias model of FLAC, taught the attribute on other images, where a candidate has one
- the groups that `discover` found, where a candidate was trained with them (`groups`)
- a run of `gce` among the candidates, as `fairflac tune` has it, which then is no candidate itself
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fairflac.data.base import BiasedDataset
from fairflac.metrics import count
from fairflac.metrics.evidence import with_guess
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import unbiased
from fairflac.metrics.selection import GUESSED, RULES, VALIDATION_RULES
from fairflac.reporting.provenance import bias_runs
from fairflac.runs.directory import Run, finished_runs
from fairflac.system.files import data_root
from fairflac.system.tables import text_table
from fairflac.training.build import load_config, load_split
from fairflac.training.pipeline import predict_run

ORACLE = "oracle-unbiased"


def candidates(folders: Sequence[Path]) -> list[list[Run]]:
    """Runs of the same images, in the order in which they were trained; a single one leaves no choice."""
    found: dict[str, list[Run]] = defaultdict(list)
    for run in sorted(finished_runs(folders), key=lambda run: (run.path / "done").stat().st_mtime):
        config = run.config
        if config["target"] == "class":
            options = {key: value for key, value in config["data_options"].items() if key != "groups"}
            found[json.dumps([config["dataset"], options, config["seed"]])].append(run)
    return [runs for runs in found.values() if len(runs) > 1]


def right_on_all_groups(run: Run) -> float:
    """In % of the test images, all groups of class and attribute counting alike; of several attributes the worst."""
    table = run.predictions
    return 100 * min(float(unbiased(count(table, name))) for name in table.bias)


def guesses(runs: Sequence[Run], data: BiasedDataset, root: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Ways to guess the attribute of the validation images, each by its name."""
    taught = next((found for run in runs for found in bias_runs(run) if found.config["target"] != "class"), None)
    if taught is not None:
        yield f"{GUESSED}, a model taught the attribute", predict_run(taught, data, cache=root / "cache").prediction
    grouped = next((run for run in runs if run.config["data_options"].get("groups")), None)
    if grouped is not None:
        same = load_split(load_config(grouped), root, "validation")
        assert same is not None and same.guess is not None
        yield f"{GUESSED}, groups that were found", same.guess
    eager = next((run for run in runs if run.config["method"] == "gce"), None)
    if eager is not None:
        yield f"{GUESSED}, gce", predict_run(eager, data, cache=root / "cache").prediction


def regrets(runs: Sequence[Run], root: Path) -> dict[str, float]:
    """Of every rule that can be used here."""
    data = load_split(load_config(runs[0]), root, "validation")
    assert data is not None, f"{runs[0].path} held no images out: train with validation above 0"
    eligible = [run for run in runs if run.config["method"] != "gce"]
    tables = [predict_run(run, data, cache=root / "cache") for run in eligible]
    tests = np.array([right_on_all_groups(run) for run in eligible])
    hidden = [table.without_labels() for table in tables]
    ordinary = [run.config["method"] == "vanilla" for run in eligible]
    scores: dict[str, Sequence[float]] = {"the ordinary model": ordinary} if any(ordinary) else {}
    scores |= {name: [rule(table) for table in hidden] for name, rule in RULES.items() if rule and name != ORACLE}
    scores |= {name: _guessed(hidden, guess) for name, guess in guesses(runs, data, root)}
    scores[ORACLE] = [VALIDATION_RULES[ORACLE](table) for table in tables]
    return {name: float(tests.max() - tests[int(np.argmax(values))]) for name, values in scores.items()}


def _guessed(tables: Sequence[Predictions], guess: np.ndarray) -> list[float]:
    return [VALIDATION_RULES[GUESSED](with_guess(table, guess)) for table in tables]


def summary(found: Sequence[Mapping[str, float]]) -> list[list[str]]:
    rules = list(dict.fromkeys(name for one in found for name in one))
    rows = []
    for rule in sorted(rules, key=lambda rule: rule == ORACLE):
        values = np.array([one[rule] for one in found if rule in one])
        best = np.mean(values < 0.05)
        rows.append([rule, str(len(values)), f"{values.mean():.1f}", f"{values.max():.1f}", f"{100 * best:.0f} %"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--each", action="store_true", help="also every set of candidates")
    asked = parser.parse_args()
    sets = candidates(asked.runs)
    found = [regrets(runs, asked.data) for runs in sets]
    if asked.each:
        for runs, one in zip(sets, found, strict=True):
            options = runs[0].config["data_options"]
            print(runs[0].config["dataset"], options.get("path", options.get("q")), f"seed {runs[0].config['seed']}:")
            for run in runs:
                print(f"  {run.path.parent.name}/{run.path.name} {right_on_all_groups(run):.1f}")
            print("  regret:", ", ".join(f"{rule} {value:.1f}" for rule, value in one.items()))
    print(text_table([["rule", "choices", "mean regret", "worst", "takes the best"], *summary(found)]))


if __name__ == "__main__":
    main()
