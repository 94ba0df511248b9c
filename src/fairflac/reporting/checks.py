"""What to check before a result is believed: alarms of a run, and the quality of its bias model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairflac.metrics import Measured
from fairflac.metrics.evidence import explained_by_attribute, lost_on_test
from fairflac.metrics.groups import majority
from fairflac.metrics.intervals import share, share_interval
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import PARTS, percent
from fairflac.reporting.naming import Names, is_result
from fairflac.reporting.text import span, with_range
from fairflac.runs.directory import Run

UNLIKE = (
    "The test images are of another kind: a shortcut holds in training and not there, or they come from another "
    "source. For images like these, believe the lower number. Look at some of both kinds, and audit the model "
    "(fairflac audit)."
)


class Alarm(NamedTuple):
    model: str  # what it is called
    says: str  # of the model, without numbers
    numbers: tuple[tuple[str, str], ...]  # what each is of, and it
    advice: str = ""  # what it may mean, and what to do; the same for every run
    shortcut: bool = False  # it is a known attribute that explains it

    @property
    def headline(self) -> str:
        """Of whichever model."""
        return self.says[0].upper() + self.says[1:]


def alarms(run: Run, name: str = "") -> list[Alarm]:
    """Of a finished model of the classes; `name`: what to call it."""
    if not is_result(run):
        return []
    table, model = run.predictions, name or str(run.config["method"])
    return [alarm for alarm in (_unlike(run, table, model), _majority(run, table, model)) if alarm]


def alarm_lines(found: Iterable[Alarm]) -> list[list[str]]:
    """Of each a sentence, then its numbers; an advice is given once, in the last sentence that it is for."""
    said = list(found)
    last = {alarm.advice: place for place, alarm in enumerate(said)}
    return [
        [
            f"The {one.model} model is {one.says}. {one.advice if last[one.advice] == place else ''}".rstrip(),
            *(f"{what}: {number}" for what, number in one.numbers),
        ]
        for place, one in enumerate(said)
    ]


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
    says = "clearly worse on the test images than on the validation images"
    numbers: tuple[tuple[str, str], ...] = (
        ("right on the validation images", with_range(validation)),
        ("right on the test images", with_range(test)),
        ("lost, which chance does not explain", f"{100 * lost.value:.1f} points ({span(lost)})"),
    )
    found = explained_by_attribute(validation, table)
    if found is None:
        return Alarm(model, says, numbers, UNLIKE)
    attribute = found.attribute.replace("_", " ")
    numbers += (
        (f"of the test images where the {attribute} goes with the class", with_range(found.aligned)),
        ("of all other test images", with_range(found.conflicting)),
    )
    return Alarm(model, f"{says}, because of the {attribute}", numbers, shortcut=True)


def _majority(run: Run, table: Predictions, model: str) -> Alarm | None:
    counts = run.result.get("training_images")
    if not counts or len(np.unique(table.y)) < 2 or (found := majority(table, counts)).beaten:
        return None
    if _reads_attribute(table, found.label):
        return None  # it has learnt something: the shortcut, of which everything else on a page speaks
    better = "not clearly better" if found.right.value > found.accuracy.value else "no better"
    label = Names.of(run.result).of_class(found.label)
    return Alarm(
        model,
        f"{better} than always saying “{label}”, the most frequent class in training",
        (
            ("right on the test images, the model", with_range(found.right)),
            ("that answer", with_range(found.accuracy)),
        ),
    )


def _reads_attribute(table: Predictions, label: int) -> bool:
    """Is the model clearly better than always saying `label` where an attribute goes with the class?"""
    right, usual = table.prediction == table.y, table.y == label
    return any(share(right[one]).low > usual[one].mean() for one in table.aligned.values() if one.any())


BATCHES = " batches"


@dataclass(frozen=True)
class Check:
    """One question to a bias model, what would be ideal, and what chance would give."""

    question: str
    answer: str
    ideal: str
    chance: str


def checks(quality: Mapping[str, float], names: Names) -> list[Check]:
    """From the numbers of `discovery.quality`, those that are there."""
    return [*_attributes(quality, names), *_class(quality, names), *_pairs(quality)]


def _attributes(quality: Mapping[str, float], names: Names) -> list[Check]:
    questions = {
        "agreement": "Does it name the {} of the training images rightly?",
        "attribute_probe": "Can the {} be read off its features?",
    }
    found = []
    for key in quality:
        kind, _, attribute = key.partition(":")
        if kind in questions and not key.endswith(PARTS):
            question = questions[kind].format(attribute.replace("_", " "))
            found.append(Check(question, _answer(quality, key), "all", _chance(names.values.get(attribute, []))))
    return found


def _class(quality: Mapping[str, float], names: Names) -> list[Check]:
    if "class_probe" not in quality:
        return []
    question = "Can the class be read off its features, the attribute left aside?"
    return [Check(question, _answer(quality, "class_probe"), "no better than chance", _chance(names.classes))]


def _pairs(quality: Mapping[str, float]) -> list[Check]:
    """S: the pairs of images that share the class or the attribute, and not both."""
    found = []
    if "share" in quality:
        found.append(
            Check(
                "How many pairs of a batch does FLAC learn from?",
                f"{quality['pairs']:.0f}, {_answer(quality, 'share', BATCHES)}",
                "not 0",
                "",
            )
        )
    if "s.precision" in quality:
        found += [
            Check(
                "Are these the right pairs?",
                _answer(quality, "s.precision", BATCHES),
                "all",
                percent(quality.get("s.chance")),
            ),
            Check("How many of the right pairs are among them?", _answer(quality, "s.recall", BATCHES), "all", ""),
        ]
    return found


def _answer(quality: Mapping[str, float], key: str, unit: str = "") -> str:
    """With its range, which a run of an earlier version did not keep."""
    low, high, n = (quality.get(key + part) for part in PARTS)
    if low is None or high is None or n is None:
        return percent(quality[key])
    return with_range(Measured(quality[key], low, high, int(n)), unit)


def _chance(names: list[str]) -> str:
    return percent(1 / len(names)) if names else ""


@dataclass(frozen=True)
class BiasModelQuality:
    model: str  # that it served
    n: int | None  # training images
    checks: list[Check]  # empty: it was not measured


def bias_model_quality(model: str, run: Run, names: Names) -> list[BiasModelQuality]:
    """Of all bias models of a model: of further attributes with what they predict."""
    if not run.result.get("bias_model"):
        return []
    found = {model: run.result.get("bias_model_quality") or {}}
    others = zip(run.config.get("other_bias_models", []), run.result.get("other_bias_models", []), strict=True)
    found |= {f"{model}, {stage['target']}": kept["quality"] for stage, kept in others}
    sizes = {name: quality.get("n") for name, quality in found.items()}
    return [
        BiasModelQuality(name, None if (n := sizes[name]) is None else int(n), checks(quality, names))
        for name, quality in found.items()
    ]
