"""The quality of a bias model, line by line: does it see the attribute, and nothing else?"""

from collections.abc import Mapping
from dataclasses import dataclass

from fairflac.report.names import Names
from fairflac.report.tables import percent


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
    for key, value in quality.items():
        kind, _, attribute = key.partition(":")
        if kind in questions:
            question = questions[kind].format(attribute.replace("_", " "))
            found.append(Check(question, percent(value), "all", _chance(names.values.get(attribute, []))))
    return found


def _class(quality: Mapping[str, float], names: Names) -> list[Check]:
    if "class_probe" not in quality:
        return []
    question = "Can the class be read off its features, the attribute left aside?"
    return [Check(question, percent(quality["class_probe"]), "no better than a guess", _chance(names.classes))]


def _pairs(quality: Mapping[str, float]) -> list[Check]:
    """S: the pairs of images that share the class or the attribute, and not both."""
    found = []
    if "share" in quality:
        found.append(
            Check(
                "How many pairs of a batch does FLAC learn from?",
                f"{quality['pairs']:.0f}, {percent(quality['share'])}",
                "not 0",
                "",
            )
        )
    if "s.precision" in quality:
        found += [
            Check(
                "Are these the right pairs?", percent(quality["s.precision"]), "all", percent(quality.get("s.chance"))
            ),
            Check("How many of the right pairs are among them?", percent(quality["s.recall"]), "all", ""),
        ]
    return found


def _chance(names: list[str]) -> str:
    return percent(1 / len(names)) if names else ""
