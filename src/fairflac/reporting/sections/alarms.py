"""What has to be said before everything else about a run, wherever it is spoken of."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fairflac.metrics import Measured
from fairflac.metrics.classes import majority
from fairflac.metrics.evidence import lost_on_test
from fairflac.metrics.intervals import share, share_interval
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import percent
from fairflac.reporting.naming import Names, is_result
from fairflac.reporting.text.tables import span, with_range
from fairflac.runs.directory import Run

UNLIKE = (
    "The test images are of another kind: a shortcut holds in training and not there, or they come from another "
    "source. For images like these believe the lower number; look at some of both kinds, and audit the model (fairflac "
    "audit)."
)


class Alarm(NamedTuple):
    fact: str
    advice: str = ""  # what it may mean, and what to do; the same for every run
    shortcut: bool = False  # it is a known attribute that explains it


def alarms(run: Run, name: str = "") -> list[Alarm]:
    """Of a finished model of the classes; `name`: what to call it."""
    if not is_result(run):
        return []
    table, model = run.predictions, f"The {name or run.config['method']} model"
    return [alarm for alarm in (_unlike(run, table, model), _majority(run, table, model)) if alarm]


def sentences(found: Iterable[Alarm]) -> list[str]:
    """An advice is given once, behind the last alarm that it is for."""
    said = list(found)
    last = {alarm.advice: place for place, alarm in enumerate(said)}
    return [f"{a.fact} {a.advice}".rstrip() if last[a.advice] == place else a.fact for place, a in enumerate(said)]


def validated(run: Run) -> Measured | None:
    """Validation accuracy of the epoch that was kept; None: there was none, or an older run did not keep which."""
    found: dict[str, Any] | None = run.result.get("validation")
    if "validation" not in run.result:
        entries = [entry["validation"] for entry in _history(run) if entry.get("validation")]
        rule = run.result.get("selection", "last")
        if entries and rule in ("last", "accuracy"):
            found = entries[-1] if rule == "last" else max(entries, key=lambda one: float(one["accuracy"]))
    if not found or not found.get("n"):
        return None
    n, right = int(found["n"]), float(found["accuracy"])
    return Measured(right, *share_interval(right, n), n)


def _history(run: Run) -> list[dict[str, Any]]:
    return run.history if (run.path / "metrics.jsonl").is_file() else []


def _unlike(run: Run, table: Predictions, model: str) -> Alarm | None:
    """The loudest: what was measured on held-out images does not hold on the test images."""
    validation, test = validated(run), share(table.prediction == table.y)
    if validation is None or (lost := lost_on_test(validation, test)) is None:
        return None
    said = (
        f"{model} is right on {with_range(validation)} of the validation images and on {with_range(test)} of the test "
        f"images, {100 * lost.value:.1f} points less ({span(lost)}), which chance does not explain"
    )
    if shortcut := _explained(table, validation):
        return Alarm(f"{said}: {shortcut}.", shortcut=True)
    return Alarm(f"{said}.", UNLIKE)


def _explained(table: Predictions, validation: Measured) -> str | None:
    """By an attribute: where it goes with the class, the model is as right as in validation."""
    right = table.prediction == table.y
    for name, aligned in table.aligned.items():
        if not aligned.any() or aligned.all():
            continue
        inside, outside = share(right[aligned]), share(right[~aligned])
        if lost_on_test(validation, inside) is None and lost_on_test(inside, outside) is not None:
            return (
                f"it is the {name.replace('_', ' ')}, for it is right on {with_range(inside)} of those whose "
                f"{name.replace('_', ' ')} goes with the class and on {with_range(outside)} of the others"
            )
    return None


def _majority(run: Run, table: Predictions, model: str) -> Alarm | None:
    counts = run.result.get("training_images")
    if not counts or len(np.unique(table.y)) < 2 or (found := majority(table, counts)).beaten:
        return None
    better = "not clearly better" if found.right.value > found.accuracy.value else "no better"
    label = Names.of(run.result).of_class(found.label)
    return Alarm(
        f"{model} is {better} than always saying “{label}”, the most frequent class in training: right on "
        f"{with_range(found.right)} of the test images, and that answer on {percent(found.accuracy.value)}."
    )
