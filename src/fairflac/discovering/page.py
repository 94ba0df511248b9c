"""A discovery as a page that needs nothing else, as text and as JSON: what was found, how sure, and the images."""

import os
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairflac import __version__
from fairflac.discovering.pipeline import Discovery
from fairflac.discovery.belief import Belief
from fairflac.discovery.search import Candidate
from fairflac.discovery.telling import CLEAR_CUE, GRID, Part, ToldCue
from fairflac.metrics.evidence import count_guesses
from fairflac.metrics.intervals import Measured
from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.reporting.page import environment
from fairflac.reporting.pictures import sprite
from fairflac.reporting.text import with_range
from fairflac.reporting.typical import YOURS, FoundSection, Region, found_section
from fairflac.system.files import write_text
from fairflac.system.tables import text_table

SIDE = 72  # pixels of an image on the page, at most

NO_PROOF = (
    "That is no proof of none: a weak shortcut, or one that these features do not show, is not found. The best guess "
    "there was is kept all the same, for you to look at."
)


def write(discovery: Discovery) -> None:
    write_text(discovery.page, render(discovery))


def render(discovery: Discovery) -> str:
    images: list[np.ndarray] = []
    sections = [_section(discovery, number, one, images) for number, one in enumerate(discovery.shown)]
    answer, *others = verdict(discovery)
    groups, command = next_step(discovery)
    template = environment("fairflac.discovering").get_template("discovery.html")
    return template.render(
        source=str(discovery.listing.source),
        n=len(discovery.y),
        features=" and ".join(discovery.features),
        verdict=answer,
        doubts=[] if discovery.shortcuts else others,
        next_step=NAME_VALUES.format(groups=groups),
        command=command,
        sections=sections,
        sprite=sprite(np.stack(images)),
        witnesses=witness_table(discovery),
        yours=YOURS,
        version=__version__,
    )


def _section(discovery: Discovery, number: int, candidate: Candidate, images: list[np.ndarray]) -> FoundSection:
    title = f"Shortcut {number + 1}" if discovery.shortcuts else "The best guess, which is not believed"
    told = discovery.told[number]
    return found_section(
        title=title,
        said=[
            *reasons(candidate.belief),
            f"The guess is that of {candidate.witness} on {candidate.features}, see the end of this page.",
        ],
        groups=discovery.guessed(candidate),
        side=SIDE,
        images=images,
        regions={value: _region(part) for value, part in (told.parts or {}).items()},
        look=cue_sentence(told.cue) if told.cue else "",
        caption=[] if told.parts is None else [part_sentence(told.parts)],
    )


def _region(part: Part) -> Region:
    return Region(part.column / GRID, part.line / GRID, 1 / GRID, 1 / GRID)


def cue_sentence(cue: ToldCue) -> str:
    """What a person may look for first."""
    sorts = f"it tells which of two images of a class has the usual value {percent(cue.area)} of the time"
    if cue.area >= CLEAR_CUE:
        return f"Look first at the {cue.name}: {sorts}, where chance is 50 %."
    return f"No simple cue explains it. The best is the {cue.name}: {sorts}, where chance is 50 %."


COVERED = f"of {GRID} x {GRID} parts that were covered in turn"


def part_sentence(parts: Mapping[int, Part]) -> str:
    if not parts:
        return f"No single part of the images decides: {COVERED}, the guess hangs on several or on all."
    return f"A square marks the part that the guess hangs on: {COVERED}, it is doubted most without this one."


def verdict(discovery: Discovery) -> list[str]:
    """In sentences, of which the first is the answer."""
    found = discovery.shortcuts
    if not found:
        return ["No shortcut was found.", *discovery.shown[0].belief.doubts(), NO_PROOF]
    if len(found) == 1:
        return ["A shortcut was found.", *reasons(found[0].belief)]
    return [f"{len(found)} shortcuts were found, one after the other.", *reasons(found[0].belief)]


def reasons(belief: Belief) -> list[str]:
    """How sure it is."""
    said = []
    if belief.lean is not None:
        follows, elsewhere, _ = belief.lean
        said.append(
            f"Where the guessed value contradicts the class, it misleads an ordinary model {with_range(follows)} of "
            f"the time; other images of the same class are mistaken so {percent(elsewhere.value)} of the time."
        )
    value, low, high, n = belief.separation
    said.append(
        f"It sets images of one class {value:.1f} times as far apart as cutting one kind of image in two "
        f"would ({low:.1f}–{high:.1f}, n = {n:,} with another value than usual)."
    )
    if belief.stability is not None:
        said.append(f"Two halves of the images give the same guess: agreement {belief.stability:.2f} of 1.")
    return said


NAME_VALUES = "Name the values in {groups}, correct single guesses, remove lines that you do not trust. Then:"


def next_step(discovery: Discovery) -> tuple[str, str]:
    """The file that a person may correct, and the command that reads it."""
    groups, photos = (os.path.relpath(path) for path in (discovery.groups, discovery.listing.source))
    return groups, shlex.join(["fairflac", "debias", photos, "--attribute-from", groups])


HEAD = ("witness", "score", "follows", "separation", "stability", "association", "believed")


def witness_table(discovery: Discovery) -> list[list[str]]:
    """A line for each witness in each round, the first line says what the columns are."""
    lines = [list(HEAD)]
    for number, one in enumerate(discovery.rounds):
        for candidate in one.candidates:
            belief, name = candidate.belief, f"{candidate.witness} on {candidate.features}"
            lines.append(
                [
                    name if number == 0 else f"{name}, without {number} found",
                    f"{belief.score:.2f}",
                    _percent(None if belief.lean is None else belief.lean.difference),
                    f"{belief.separation.value:.2f}",
                    UNKNOWN if belief.stability is None else f"{belief.stability:.2f}",
                    f"{belief.association:.2f}",
                    "yes" if belief.believed else "no",
                ]
            )
    return lines


def _percent(number: Measured | None) -> str:
    return UNKNOWN if number is None else percent(number.value)


def as_text(discovery: Discovery) -> str:
    first, *others = verdict(discovery)
    lines = [first, *(f"  {sentence}" for sentence in others), ""]
    lines.append(f"{discovery.listing.source}: {len(discovery.y):,} images to train and validate.")
    for number, one in enumerate(discovery.shown, start=1):
        lines += ["", f"Images by class and guess {number}, of {one.witness} on {one.features}"]
        lines.append(text_table(discovery.guessed(one).table()))
        cue = discovery.told[number - 1].cue
        lines += [cue_sentence(cue)] if cue else []
    groups, command = next_step(discovery)
    return "\n".join(
        [*lines, "", text_table(witness_table(discovery)), "", f"{NAME_VALUES.format(groups=groups)} {command}"]
    )


def as_json(discovery: Discovery) -> dict[str, Any]:
    y = discovery.y
    return {
        "images": str(discovery.listing.source),
        "n": len(y),
        "features": discovery.features,
        "found": len(discovery.shortcuts),
        "verdict": verdict(discovery),
        "classes": discovery.classes,
        "rounds": [
            [belief_json(one) | {"counts": count_guesses(y, one.testimony.value).tolist()} for one in done.candidates]
            for done in discovery.rounds
        ],
        "cues": [told.cue and told.cue._asdict() for told in discovery.told],
        "groups": str(discovery.groups),
        "page": str(discovery.page),
    }


def belief_json(one: Candidate) -> dict[str, Any]:
    belief = one.belief
    measured = {"separation": belief.separation, **(belief.lean._asdict() if belief.lean else {})}
    return {
        "witness": one.witness,
        "features": one.features,
        "believed": belief.believed,
        "doubts": belief.doubts(),
        "score": belief.score,
        "association": belief.association,
        "stability": belief.stability,
        **{name: number._asdict() for name, number in measured.items()},
    }
