"""Audits as text for a terminal and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairflac.auditing.answer import answer
from fairflac.auditing.cues import CUES
from fairflac.auditing.frame import p_value
from fairflac.auditing.pipeline import SAME, Audit, discovery_sentences, verdict
from fairflac.auditing.several import UNLIKE, SideBySide, one_model
from fairflac.auditing.shortcuts import FoundShortcut
from fairflac.data.pixels.resample import centre_crop
from fairflac.discovering.page import belief_json
from fairflac.metrics import Measured, group_table, measure
from fairflac.metrics.comparison import Difference
from fairflac.metrics.evidence import Guessed, usual_values
from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.reporting.conclusions import GUESS
from fairflac.reporting.naming import Names
from fairflac.reporting.results import GroupTable, group_tables
from fairflac.reporting.text import span, with_range
from fairflac.reporting.typical import GuessedGroups
from fairflac.system.tables import printable, text_table

MODEL = "right"  # the heading of the model's share of right answers
SUMMARY = ("unbiased", "aligned", "conflicting", "worst_group")
FEW = 12  # groups that a terminal shows
NAMED = 2  # images of each kind that a terminal names


def found_title(number: int, one: FoundShortcut) -> str:
    return f"Shortcut {number + 1}, found by {one.candidate.witness} on {one.candidate.features}"


def guessed_groups(audit: Audit, one: FoundShortcut) -> GuessedGroups:
    """Of the audited images, as the model sees them."""
    data = audit.images.data
    seen, usual = centre_crop(data.images, data.task.image_size), usual_values(one.counts)
    return GuessedGroups(seen, data.names, data.task.classes, data.y, one.value, one.confidence, usual)


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
    return printable("\n".join(parts))


def several_text(several: SideBySide) -> str:
    """The answer first, then one model a column."""
    audits = list(several.audits.values())
    parts = [*answer(several), "", *_models_lines(several), ""]
    for name in several.others:
        lines = [[one.what, *_difference(one.difference)] for one in several.differences(name)]
        head = [f"{name} against {several.first}", several.first, name, "points", "95 %", "p", "n"]
        parts += [text_table([head, *lines]), ""] if lines else []
    parts += [] if several.same_images else [UNLIKE, ""]
    cues = [{one.cue: one.difference for one in each.followed} for each in audits]
    if any(cues):
        lines = [[cue, *(_points(each.get(cue)) for each in cues)] for cue in CUES if any(cue in each for each in cues)]
        parts += [
            "How much more often each names the class that a cue was taken from than with a cue of its own class",
            text_table([["cue", *several.audits], *lines]),
        ]
    return printable("\n".join([*parts, "Each model alone: audit it alone, or --json; pictures: -o for a page."]))


def _models_lines(several: SideBySide) -> list[str]:
    head = ["model", "right", "95 %", "n", "verdict"]
    lines = [[name, *_cells(one.accuracy), verdict(one).word] for name, one in several.audits.items()]
    notes = dict.fromkeys(note for one in several.audits.values() for note in one.images.notes)
    return [text_table([head, *lines], "<>>><"), "", *notes]


def _difference(one: Difference) -> list[str]:
    points = Measured(one.difference, one.low, one.high, one.n)
    change = f"{100 * one.difference:+.1f}"
    return [percent(one.first), percent(one.second), change, span(points), p_value(one.p), f"{one.n:,}"]


def _points(one: Measured | None) -> str:
    return UNKNOWN if one is None else f"{percent(one.value)} ({span(one)})"


def several_json(several: SideBySide) -> dict[str, Any]:
    """Every model as it is alone, and the paired comparison of each with the first."""
    return {
        "answer": answer(several),
        "same_images": several.same_images,
        "models": {name: as_json(one) for name, one in several.audits.items()},
        "against_first": {
            name: [
                {"images": one.what, "metric": one.key, "attribute": one.attribute, **one.difference._asdict()}
                for one in several.differences(name)
            ]
            for name in several.others
        },
    }


def as_json(audit: Audit) -> dict[str, Any]:
    said = verdict(audit)
    return {
        "model": audit.source,
        "answer": answer(one_model(audit)),
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
    groups = guessed_groups(audit, one)
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
    lines = ["", *more] if (more := unsaid(audit)) else []
    for number, one in enumerate(audit.found.shortcuts):
        groups = guessed_groups(audit, one)
        lines += ["", f"{found_title(number, one)}: images by class and guessed value", text_table(groups.table())]
        lines += ["", _number_table(one.guessed), "", *_typical_lines(groups), "Their pictures are on the page (-o)."]
    return lines


def unsaid(audit: Audit) -> list[str]:
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
