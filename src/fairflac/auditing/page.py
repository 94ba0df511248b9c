"""An audit as one page that needs nothing else: the answer, what it rests on, and the images that decide."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairflac import __version__
from fairflac.auditing.cues import CUES, Followed
from fairflac.auditing.pipeline import NO_PROOF, SAME, Audit, discovery_sentences, verdict
from fairflac.auditing.shortcuts import FoundShortcut
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.resample import centre_crop
from fairflac.discovering.page import belief_json, reasons
from fairflac.metrics import Measured, group_table, measure
from fairflac.metrics.evidence import Guessed, strength, usual_values
from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.reporting.conclusions import DRAWN, GUESS
from fairflac.reporting.naming import Names
from fairflac.reporting.page import environment
from fairflac.reporting.pictures import Sprite, sprite
from fairflac.reporting.results import GroupTable, group_tables
from fairflac.reporting.text import span, with_range
from fairflac.reporting.typical import YOURS, FoundSection, GuessedGroups, found_section
from fairflac.runs.gallery import shrink
from fairflac.system.files import write_text
from fairflac.system.tables import text_table

MISTAKES = 12
SIDE = 96  # pixels of an image on the page, at most


@dataclass(frozen=True)
class CaptionedImage:
    """One image and what stands under it."""

    place: int
    name: str  # where it comes from
    lines: tuple[str, ...]


@dataclass(frozen=True)
class AuditExamples:
    sprite: Sprite | None  # None: there is nothing to show
    found: list[FoundSection]  # a section for each shortcut that discovery found
    cue: Followed | None  # the most followed
    trios: list[
        tuple[CaptionedImage, CaptionedImage, CaptionedImage]
    ]  # an image, the one that gave its cue, and what came of it
    mistakes: list[CaptionedImage]  # as the bias model has it, the surest first


def write(audit: Audit, path: Path) -> None:
    write_text(path, render(audit))


def render(audit: Audit) -> str:
    template = environment("fairflac.auditing").get_template("audit.html")
    return template.render(
        audit=audit,
        said=verdict(audit),
        examples=audit_examples(audit),
        unsaid=_unsaid(audit),
        yours=YOURS,
        guess_numbers=guess_numbers,
        meanings={name: cue.meaning for name, cue in CUES.items()},
        groups=group_tables({MODEL: audit.table}, names_of(audit)),
        model=MODEL,
        drawn=DRAWN,
        what_a_guess_is=GUESS,
        same=SAME if audit.found_alike else "",
        no_proof=NO_PROOF,
        version=__version__,
    )


def audit_examples(audit: Audit) -> AuditExamples:
    images: list[np.ndarray] = []
    names, table, data = names_of(audit), audit.table, audit.images.data
    said = [names.of_class(int(label)) for label in table.prediction]

    def captioned(row: int, *lines: str, image: np.ndarray | None = None) -> CaptionedImage:
        images.append(shrink(_seen(data, row) if image is None else image, SIDE))
        return CaptionedImage(len(images) - 1, str(data.names[row]), lines)

    found = [
        found_section(_title(number, one), reasons(one.candidate.belief), _groups(audit, one), SIDE, images)
        for number, one in enumerate(audit.found.shortcuts)
    ]
    cue = audit.followed[0] if audit.followed and strength("cue", audit.followed[0].difference) else None
    trios = [
        (
            captioned(row, f"“{said[row]}”"),
            captioned(giver, f"“{said[giver]}”"),
            captioned(row, f"“{said[giver]}”", image=changed),
        )
        for row, giver, changed in (cue.examples if cue else ())
    ]
    surest = [] if audit.found_alike else surest_with_the_guess(audit)
    mistakes = [captioned(row, names.of_class(int(table.y[row])), f"“{said[row]}”") for row in surest]
    return AuditExamples(sprite(np.stack(images)) if images else None, found, cue, trios, mistakes)


def _title(number: int, one: FoundShortcut) -> str:
    return f"Shortcut {number + 1}, found by {one.candidate.witness} on {one.candidate.features}"


def _groups(audit: Audit, one: FoundShortcut) -> GuessedGroups:
    """Of the audited images, as the model sees them."""
    data = audit.images.data
    seen, usual = centre_crop(data.images, data.task.image_size), usual_values(one.counts)
    return GuessedGroups(seen, data.names, data.task.classes, data.y, one.value, one.confidence, usual)


def surest_with_the_guess(audit: Audit) -> list[int]:
    """Rows where model and bias model make the same mistake; those that the model is surest of first."""
    table = audit.table
    assert table.guess is not None
    wrong = np.flatnonzero((table.prediction == table.guess) & (table.prediction != table.y))
    rows: list[int] = wrong[np.argsort(-table.score[wrong], kind="stable")][:MISTAKES].tolist()
    return rows


def _seen(data: BiasedDataset, row: int) -> np.ndarray:
    """The part of an image that the model sees."""
    return centre_crop(data.images[row], data.task.image_size)


MODEL = "right"  # the heading of the model's share of right answers
SUMMARY = ("unbiased", "aligned", "conflicting", "worst_group")
FEW = 12  # groups that a terminal shows
NAMED = 2  # images of each kind that a terminal names


def as_text(audit: Audit) -> str:
    """The answer first, then what it rests on."""
    said = verdict(audit)
    parts = [
        f"{said.word}: {', '.join(said.on)}" if said.on else said.word,
        *(f"  {reason}" for reason in said.reasons),
        "",
        f"{audit.source}: {' '.join(audit.images.notes)} Right: {with_range(audit.accuracy)}.",
        *_found_lines(audit),
        "",
        "How often the model names the class that a cue was taken from",
        text_table([["cue", "taken from there", "from its own", "difference", "95 %", "n"], *_cue_lines(audit)]),
        "",
        f"Does it go along with a bias model? {GUESS} It is small, was stopped early, and was {audit.how}.",
        _number_table(audit.guessed),
        *([SAME] if audit.found_alike else []),
    ]
    for attribute, table in zip(audit.table.bias, group_tables({MODEL: audit.table}, names_of(audit)), strict=True):
        parts += ["", *_group_lines(audit, attribute, table)]
    return "\n".join(parts)


def as_json(audit: Audit) -> dict[str, Any]:
    said = verdict(audit)
    return {
        "model": audit.source,
        "notes": audit.images.notes,
        "verdict": said.word,
        "leans_on": said.on,
        "reasons": said.reasons,
        "n": len(audit.table),
        "accuracy": audit.accuracy._asdict(),
        "discovery": {
            "searched": audit.found.searched,
            "features": audit.found.features,
            "said": discovery_sentences(audit),
            "shortcuts": [_found_json(audit, one) for one in audit.found.shortcuts],
        },
        "cues": {
            one.cue: {
                "meaning": CUES[one.cue].meaning,
                **{part: getattr(one, part)._asdict() for part in ("follows", "anyway", "difference")},
            }
            for one in audit.followed
        },
        "bias_model": {
            "trained": audit.how,
            "better_than_chance": not audit.guessed.by_chance,
            **_numbers_json(audit.guessed),
        },
        "gaps": {name: gap._asdict() for name, gap in audit.gaps.items()},
        "metrics": {name: one._asdict() for name, one in measure(audit.table).items()},
        "groups": {name: [row._asdict() for row in group_table(audit.table, name)] for name in audit.table.bias},
        "classes": audit.images.data.task.classes,
        "attributes": {name: one.values for name, one in audit.images.data.task.attributes.items()},
    }


def _found_json(audit: Audit, one: FoundShortcut) -> dict[str, Any]:
    groups = _groups(audit, one)
    return {
        **belief_json(one.candidate),
        "counts": one.counts.tolist(),
        "strength": one.guessed.strength.name.lower(),
        "model": _numbers_json(one.guessed),
        "typical": {
            label: {"usual": groups.named(usual), "other": groups.named(other)}
            for label, usual, other in groups.typical()
        },
    }


def _numbers_json(guessed: Guessed) -> dict[str, Any]:
    return {name: one and one._asdict() for name, one in guess_numbers(guessed).items()}


def guess_numbers(guessed: Guessed) -> dict[str, Measured | None]:
    """What is known beside guesses, by its name in tables."""
    lean = guessed.lean
    right = {} if guessed.found else {"guesses that are right, classes counting alike": guessed.right}
    return right | {
        "model right, where the guess is right": guessed.agree,
        "model right, where the guess is wrong": guessed.disagree,
        "gap, the difference of the two": guessed.gap,
        "model names the wrong guess": lean and lean.follows,
        "model names it for others of the class": lean and lean.elsewhere,
        "lean, the difference of the two": lean and lean.difference,
    }


def _number_table(guessed: Guessed) -> str:
    return text_table([["", "", "95 %", "n"], *([name, *_cells(one)] for name, one in guess_numbers(guessed).items())])


def _found_lines(audit: Audit) -> list[str]:
    """Each found shortcut in numbers, and what to look at; in a sentence, where there is none and that is not said."""
    lines = ["", *unsaid] if (unsaid := _unsaid(audit)) else []
    for number, one in enumerate(audit.found.shortcuts):
        groups = _groups(audit, one)
        lines += ["", f"{_title(number, one)}: images by class and guessed value", text_table(groups.table())]
        lines += ["", _number_table(one.guessed), "", *_typical_lines(groups), "Their pictures are on the page (-o)."]
    return lines


def _unsaid(audit: Audit) -> list[str]:
    """What is to be said of discovery beside the reasons of the verdict."""
    said = verdict(audit).reasons
    return [sentence for sentence in discovery_sentences(audit) if sentence not in said]


def _typical_lines(groups: GuessedGroups) -> list[str]:
    """Names of a few images of each class, to look at."""
    return [
        f"{label}: usually as {_few(groups.named(usual))}; otherwise as {_few(groups.named(other))}"
        for label, usual, other in groups.typical()
    ]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) or "none"


def names_of(audit: Audit) -> Names:
    task = audit.images.data.task
    return Names(list(task.classes), {name: list(one.values) for name, one in task.attributes.items()})


def _group_lines(audit: Audit, attribute: str, table: GroupTable) -> list[str]:
    """The summary; every group as well, where they are few."""
    only = {attribute: audit.table.bias[attribute]}
    numbers = measure(replace(audit.table, bias=only, repeats={}))
    shown = {name.replace("_", " "): numbers.get(name) for name in SUMMARY} | {"gap": audit.gaps.get(attribute)}
    lines = [[name, "", *_cells(one)] for name, one in shown.items()]
    if len(table.groups) <= FEW:
        lines += [[f"{g.label}, {g.value}", _yes(g.aligned), *_cells(g.accuracy[MODEL])] for g in table.groups]
    more = [] if len(table.groups) <= FEW else [f"All {len(table.groups)} groups: --json, or -o for a page."]
    return [text_table([[f"class and {table.attribute}", "go together", MODEL, "95 %", "n"], *lines]), *more]


def _cue_lines(audit: Audit) -> Sequence[Sequence[str]]:
    return [
        [one.cue, percent(one.follows.value), percent(one.anyway.value), *_cells(one.difference)]
        for one in audit.followed
    ]


def _cells(one: Measured | None) -> list[str]:
    return [UNKNOWN] * 3 if one is None else [percent(one.value), span(one), f"{one.n:,}"]


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
