"""The quality of a bias model, line by line: does it see the attribute, and nothing else?"""

from collections.abc import Mapping
from dataclasses import dataclass

from fairflac.metrics import Measured
from fairflac.metrics.scores import PARTS, percent
from fairflac.reporting.naming import Names
from fairflac.reporting.text.tables import with_range

BATCHES = " batches"


@dataclass(frozen=True)
class Check:
    """One question to a bias model, what would be ideal, and what a guess would give."""

    question: str
    answer: str
    ideal: str
    guess: str


def checks(quality: Mapping[str, float], names: Names) -> list[Check]:
    """From the numbers of `bias_quality.measure`, those that are there."""
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
    return [Check(question, _answer(quality, "class_probe"), "no better than a guess", _chance(names.classes))]


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
