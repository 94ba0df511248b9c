"""The first screen of an audit: which comparison shows the answer best, and the answer in a few plain sentences."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from fairflac.auditing.frame import Bar, Contrast, Kind, preference, whole
from fairflac.auditing.pipeline import UNNAMED, Audit, Verdict, found_name, verdict
from fairflac.auditing.several import FOUND, UNLIKE, NamedDifference, SideBySide, in_a_sentence, same_found
from fairflac.metrics import Measured, measure
from fairflac.metrics.evidence import Strength, strength
from fairflac.metrics.groups import class_accuracy
from fairflac.metrics.intervals import difference

NAMED = 3  # things that a model leans on, in one sentence
MOST_CLASSES = 10  # that a picture shows: of more, those that are named rightly least often


class _Choice(NamedTuple):
    strength: Strength
    kind: Kind
    name: str
    bars: list[Bar]

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name


RIGHT = "How often the model is right"


def contrast(several: SideBySide) -> Contrast:
    """The kind of evidence that is strongest for any model, which is then shown for all of them.

    Of equals the first: a labelled attribute, what discovery found, a cue, the guess of a bias model; and each class
    where nothing else can be shown.
    """
    choices = {name: {each.key: each for each in _choices(one)} for name, one in several.audits.items()}
    shared = [key for key in next(iter(choices.values())) if all(key in one for one in choices.values())]
    if not same_found(several.audits):
        shared = [key for key in shared if key[0] != "found"]
    best = max(shared, key=lambda key: max(one[key].strength for one in choices.values()))  # the first of equals
    shown = next(iter(choices.values()))[best]
    title = {
        "cue": f"How often the model names the class that the {shown.name} was taken from",
        "class": f"{RIGHT}, by class",
    }.get(shown.kind, RIGHT)
    bars = {name: one[best].bars for name, one in choices.items()}
    return Contrast(shown.kind, title, bars, shown.name if shown.kind in ("attribute", "found") else "")


def _choices(one: Audit) -> Iterator[_Choice]:
    for name, gap in one.gaps.items():
        numbers = measure(replace(one.table, bias={name: one.table.bias[name]}, repeats={}))
        bars = _beside(name, numbers["aligned"], numbers["conflicting"])
        yield _Choice(strength("attribute", gap), "attribute", name, bars)
    for number, found in enumerate(one.found.shortcuts, start=1):
        name, beside = f"shortcut {number}", found.guessed
        if beside.agree and beside.disagree:
            yield _Choice(beside.strength, "found", name, _beside(name, beside.agree, beside.disagree))
    for cue in one.followed:
        bars = [
            Bar(f"given the {cue.cue} of an image of another class", cue.follows, against=True),
            Bar(f"given the {cue.cue} of an image of its own class", cue.anyway),
        ]
        yield _Choice(strength("cue", cue.difference), "cue", cue.cue, bars)
    guessed = one.guessed
    if guessed.agree and guessed.disagree and not guessed.blind:
        agree = Bar("where a small, early model is right too", guessed.agree)
        bars = [agree, Bar("where the small model is wrong", guessed.disagree, against=True)]
        yield _Choice(guessed.strength, "guess", "", bars)
    classes = one.images.data.task.classes
    lowest = sorted(class_accuracy(one.table).items(), key=lambda item: item[1].value)[:MOST_CLASSES]
    yield _Choice(Strength.NONE, "class", "", [Bar(classes[label], number) for label, number in sorted(lowest)])


def _beside(name: str, agree: Measured, disagree: Measured) -> list[Bar]:
    named = in_a_sentence(name)
    agrees = Bar(f"where {named} goes with the class", agree)
    return [agrees, Bar(f"where {named} contradicts the class", disagree, against=True)]


def answer(several: SideBySide) -> list[str]:
    """The verdict, what shows it most plainly, and what to do."""
    shown = contrast(several)
    numbers = _numbers(several, shown)
    if len(several.audits) == 1:
        (found,) = several.audits.values()
        return [_verdict(verdict(found)), numbers, _advice(found)]
    return [f"{'; '.join(_verdicts(several, shown))}.", numbers, *_choice(several, shown)]


def _verdicts(several: SideBySide, shown: Contrast) -> Iterator[str]:
    """Of a model that leans on the same thing as the first, whether it does so less."""
    first = verdict(several.audits[several.first])
    for name, one in several.audits.items():
        said = verdict(one)
        still = name != several.first and said.on and (said.word, said.on[0]) == (first.word, first.on[0])
        less = ", but less" if still and _leans_less(shown, several.first, name) else ""
        yield _named_verdict(f"{name} still" if less else name, said) + less


def _leans_less(shown: Contrast, first: str, name: str) -> bool:
    """By more than chance explains: the ranges of the differences between the two bars lie apart."""
    if shown.kind == "class":
        return False
    before, after = (difference(*(bar.number for bar in shown.bars[one])) for one in (first, name))
    return after.high < before.low


def _verdict(said: Verdict) -> str:
    on = listed(said.on)
    return {
        "leans on a shortcut": f"Yes: it leans on {on}.",
        "signs of a shortcut": f"Perhaps: there are signs that it leans on {on}.",
        "no evidence": "No evidence of a shortcut was found.",
        "cannot tell": "These images cannot tell.",
    }[said.word]


def listed(names: list[str]) -> str:
    """What a model leans on, as words of a sentence; the first are the strongest, and the reasons have them all."""
    words = [_in_short(name) for name in names]
    if len(words) > NAMED:
        words = [*words[: NAMED - 1], f"{len(words) - NAMED + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def _in_short(name: str) -> str:
    found = FOUND.match(name)
    if found and name == found_name(int(found[0].split()[1]) - 1):
        return f"{found[0]} (pictures below)"
    return name if name == UNNAMED else f"the {name.replace('_', ' ')}"


def _numbers(several: SideBySide, shown: Contrast) -> str:
    """The picture as a sentence; what goes with the class comes first."""
    if shown.kind == "class":
        return _sentence(_said({name: one.accuracy for name, one in several.audits.items()}, "is right on"))
    verb = "names that class for" if shown.kind == "cue" else "is right on"
    first, parts = next(iter(shown.bars.values())), []
    for place in sorted(range(len(first)), key=lambda place: first[place].against):
        shares = {name: bars[place].number for name, bars in shown.bars.items()}
        parts.append(f"{first[place].label}, {_said(shares, verb)}")
    return _sentence("; ".join(parts))


def _said(shares: Mapping[str, Measured], verb: str) -> str:
    """ "it is right on 97 %\", or "a is right on 10 %, b on 77 %"."""
    (first, share), *others = shares.items()
    further = [f"{name} {verb.split()[-1]} {whole(one)}" for name, one in others]
    return ", ".join([f"{first if others else 'it'} {verb} {whole(share)}", *further])


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _advice(found: Audit) -> str:
    return {
        "leans on a shortcut": "If that is not what the classes are about, train it anew against it: fairflac debias "
        "does so without labels of it.",
        "signs of a shortcut": "Look at the images below. To make sure, label what you suspect in a column of a CSV "
        "file, and audit that.",
        "no evidence": "Nothing speaks for training it anew. If you suspect something that is not tried here, label it "
        "in a column of a CSV file, and audit that.",
        "cannot tell": "Audit images in which what is easy to see and the class differ, or label what you suspect.",
    }[verdict(found).word]


def _named_verdict(name: str, said: Verdict) -> str:
    on = listed(said.on)
    return {
        "leans on a shortcut": f"{name} leans on {on}",
        "signs of a shortcut": f"{name} shows signs of leaning on {on}",
        "no evidence": f"{name}: no evidence of a shortcut",
        "cannot tell": f"{name}: these images cannot tell",
    }[said.word]


def _choice(several: SideBySide, shown: Contrast) -> list[str]:
    """Which of them to take, by paired tests alone."""
    if not several.same_images:
        return [UNLIKE]
    said = []
    for name in several.others:
        differences = several.differences(name)
        decisive = _decisive(differences, shown.attribute)
        said.append(preference(several.first, name, decisive.difference, decisive.what))
        if not decisive.difference.clear and (traded := _traded(differences, decisive)):
            said.append(
                f"In parts there is, of {name} against {several.first}: {traded}. Which of them matters, you decide."
            )
        if decisive.difference.clear and decisive.difference.difference > 0 and (worse := several.worse_classes(name)):
            classes = several.audits[name].images.data.task.classes
            lost = ", ".join(f"“{classes[one.label]}” {100 * one.difference.value:+.1f}" for one in worse)
            said.append(f"It is worse at some classes, in points: {lost}.")
    return said


def _traded(found: list[NamedDifference], decisive: NamedDifference) -> str:
    """What is clear about images that go with the attribute, and about those that do not."""
    parts = [
        one for one in found if one.attribute == decisive.attribute and one is not decisive and one.difference.clear
    ]
    return ", ".join(f"{100 * one.difference.difference:+.1f} points {one.what}" for one in parts)


def _decisive(found: list[NamedDifference], attribute: str) -> NamedDifference:
    """On the groups that the picture is about, counting alike; else on all images."""
    telling = [one for one in found if attribute and one.attribute == attribute and one.key == "unbiased"]
    return (telling or found)[0]
