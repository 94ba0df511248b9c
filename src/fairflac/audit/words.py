"""An audit as text for a terminal and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairflac.audit.cues import CUES
from fairflac.audit.verdict import verdict
from fairflac.audit.work import Audit
from fairflac.metrics import Measured, group_table, measure
from fairflac.report.groups import GroupTable, group_tables
from fairflac.report.names import Names
from fairflac.report.ranges import span, with_range
from fairflac.report.tables import UNKNOWN, aligned, percent

MODEL = "right"  # the heading of the model's share of right answers
SUMMARY = ("unbiased", "aligned", "conflicting", "worst_group")
FEW = 12  # groups that a terminal shows


def as_text(audit: Audit) -> str:
    """The answer first, then what it rests on."""
    said = verdict(audit)
    parts = [
        f"{said.word}: {', '.join(said.on)}" if said.on else said.word,
        *(f"  {reason}" for reason in said.reasons),
        "",
        f"{audit.source}: {' '.join(audit.subject.notes)} Right: {with_range(audit.accuracy)}.",
        "",
        "How often the model names the class that a cue was taken from",
        aligned([["cue", "taken from there", "from its own", "difference", "95 %", "n"], *_cue_lines(audit)]),
        "",
        f"Beside a bias model, {audit.how}",
        aligned([["", "", "95 %", "n"], *([name, *_cells(one)] for name, one in guess_numbers(audit).items())]),
    ]
    for attribute, table in zip(audit.table.bias, group_tables({MODEL: audit.table}, names_of(audit)), strict=True):
        parts += ["", *_group_lines(audit, attribute, table)]
    return "\n".join(parts)


def as_json(audit: Audit) -> dict[str, Any]:
    said = verdict(audit)
    return {
        "model": audit.source,
        "notes": audit.subject.notes,
        "verdict": said.word,
        "leans_on": said.on,
        "reasons": said.reasons,
        "n": len(audit.table),
        "accuracy": audit.accuracy._asdict(),
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
            **{name: one and one._asdict() for name, one in guess_numbers(audit).items()},
        },
        "gaps": {name: gap._asdict() for name, gap in audit.gaps.items()},
        "metrics": {name: one._asdict() for name, one in measure(audit.table).items()},
        "groups": {name: group_table(audit.table, name).to_dict("records") for name in audit.table.bias},
        "classes": audit.subject.data.task.classes,
        "attributes": {name: one.values for name, one in audit.subject.data.task.attributes.items()},
    }


def guess_numbers(audit: Audit) -> dict[str, Measured | None]:
    """What is known beside the guesses of the bias model, by its name in tables."""
    guessed, lean = audit.guessed, audit.guessed.lean
    return {
        "guesses that are right, classes counting alike": guessed.right,
        "model right, where the guess is right": guessed.agree,
        "model right, where the guess is wrong": guessed.disagree,
        "gap, the difference of the two": guessed.gap,
        "model names the wrong guess": lean and lean.follows,
        "model names it for others of the class": lean and lean.elsewhere,
        "lean, the difference of the two": lean and lean.difference,
    }


def names_of(audit: Audit) -> Names:
    task = audit.subject.data.task
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
    return [aligned([[f"class and {table.attribute}", "go together", MODEL, "95 %", "n"], *lines]), *more]


def _cue_lines(audit: Audit) -> Sequence[Sequence[str]]:
    return [
        [one.cue, percent(one.follows.value), percent(one.anyway.value), *_cells(one.difference)]
        for one in audit.followed
    ]


def _cells(one: Measured | None) -> list[str]:
    return [UNKNOWN] * 3 if one is None else [percent(one.value), span(one), f"{one.n:,}"]


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
