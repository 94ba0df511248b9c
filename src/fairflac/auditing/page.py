"""Audits as one page that needs nothing else: the answer in a picture and a few sentences, the images that the models
are surest and wrong about, and below, folded where it is long, what the answer rests on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

from fairflac import __version__
from fairflac.auditing.answer import answer, contrast
from fairflac.auditing.cues import CUES, Followed
from fairflac.auditing.frame import COMPARED, NumberRow, NumberTable, p_value, render_page
from fairflac.auditing.pipeline import NO_PROOF, SAME, Audit, verdict
from fairflac.auditing.several import SideBySide, one_model, same_found
from fairflac.auditing.text import found_title, guess_numbers, guessed_groups, names_of, unsaid
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.resample import centre_crop
from fairflac.discovering.page import reasons
from fairflac.metrics import Measured
from fairflac.metrics.comparison import Difference
from fairflac.metrics.evidence import Guessed, strength
from fairflac.metrics.scores import percent
from fairflac.reporting.conclusions import DRAWN, GUESS
from fairflac.reporting.pictures import Sprite, sprite
from fairflac.reporting.results import class_lines, group_tables
from fairflac.reporting.text import span
from fairflac.reporting.typical import YOURS, FoundSection, found_section
from fairflac.runs.gallery import shrink
from fairflac.system.files import write_text

SUREST = 3  # mistakes of each model on the first screen
MISTAKES = 12
SIDE = 96  # pixels of an image on the page, at most


@dataclass(frozen=True)
class CaptionedImage:
    """One image and what stands under it."""

    place: int
    name: str  # where it comes from
    lines: tuple[str, ...]


Trio = tuple[CaptionedImage, CaptionedImage, CaptionedImage]  # an image, the one that gave its cue, what came of it


@dataclass(frozen=True)
class ModelExamples:
    """Images that tell something of one model."""

    surest: list[CaptionedImage]
    wrong: int  # mistakes in all
    cue: Followed | None  # the most followed; None: there is nothing to see
    trios: list[Trio]
    mistakes: list[CaptionedImage]  # as the bias model has it, the surest first


@dataclass
class PageImages:
    """All images of the page, which become one."""

    images: list[np.ndarray] = field(default_factory=list)

    def add(self, image: np.ndarray, name: object, *lines: str) -> CaptionedImage:
        self.images.append(shrink(image, SIDE))
        return CaptionedImage(len(self.images) - 1, str(name), lines)

    def sprite(self) -> Sprite | None:
        """None: there is nothing to show. Models that see images of other sizes show them alike."""
        if not self.images:
            return None
        height, width = (max(image.shape[axis] for image in self.images) for axis in (0, 1))
        return sprite(np.stack([_scaled(image, height, width) for image in self.images]))


def _scaled(image: np.ndarray, height: int, width: int) -> np.ndarray:
    if image.shape[:2] == (height, width):
        return image
    return np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize((width, height), Image.Resampling.NEAREST))


def write(found: Audit | SideBySide, path: Path) -> None:
    write_text(path, render(found))


def render(found: Audit | SideBySide) -> str:
    several = one_model(found) if isinstance(found, Audit) else found
    images, audits = PageImages(), several.audits
    alike = same_found(audits)
    sections = _found_sections(several if alike else one_model(next(iter(audits.values()))), images)
    examples = {name: _examples(several, name, images) for name in audits}
    return render_page(
        "audit.html",
        several=several,
        alone=len(audits) == 1,
        answer=answer(several),
        contrast=contrast(several),
        said={name: verdict(one) for name, one in audits.items()},
        examples=examples,
        sections=sections,
        found_by=None if alike else next(iter(audits)),
        unsaid=list(dict.fromkeys(line for one in audits.values() for line in unsaid(one))),
        notes=_notes(audits),
        comparisons=[table for name in several.others if (table := _comparison(several, name))],
        classes=_class_table(several),
        cues=_cue_table(audits),
        guess=_guess_table({name: one.guessed for name, one in audits.items()}),
        beside=[_guess_table(by_model) for by_model in _found_by_model(several)] if alike else [],
        groups=_group_tables(several),
        same={name: SAME for name, one in audits.items() if one.found_alike},
        sprite=images.sprite(),
        yours=YOURS,
        drawn=DRAWN,
        what_a_guess_is=GUESS,
        no_proof=NO_PROOF,
        version=__version__,
    )


def _notes(audits: Mapping[str, Audit]) -> dict[str, list[str]]:
    """Which images; once, where all models have the same to say of them."""
    notes = {name: list(one.images.notes) for name, one in audits.items()}
    return {"": next(iter(notes.values()))} if len({*map(tuple, notes.values())}) == 1 else notes


def _examples(several: SideBySide, name: str, images: PageImages) -> ModelExamples:
    audit = several.audits[name]
    data, table, names = audit.images.data, audit.table, names_of(audit)
    said = [names.of_class(int(label)) for label in table.prediction]

    def shown(row: int, *lines: str) -> CaptionedImage:
        return images.add(_seen(data, row), data.names[row], *lines)

    surest = [shown(row, *_answers(several, name, row)) for row in surest_and_wrong(audit)]
    cue = audit.followed[0] if audit.followed and strength("cue", audit.followed[0].difference) else None
    trios = [
        (
            shown(row, f"“{said[row]}”"),
            shown(giver, f"“{said[giver]}”"),
            images.add(changed, data.names[row], f"“{said[giver]}”"),
        )
        for row, giver, changed in (cue.examples if cue else ())
    ]
    both = [] if audit.found_alike else surest_with_the_guess(audit)
    mistakes = [shown(row, names.of_class(int(table.y[row])), f"“{said[row]}”") for row in both]
    return ModelExamples(surest, int((table.prediction != table.y).sum()), cue, trios, mistakes)


def _answers(several: SideBySide, name: str, row: int) -> list[str]:
    """The class of an image, and what each model that was shown it says."""
    own = several.audits[name]
    lines = [f"is {names_of(own).of_class(int(own.table.y[row]))}"]
    asked = several.audits if several.same_images else {name: own}
    for other, audit in asked.items():
        said = names_of(audit).of_class(int(audit.table.prediction[row]))
        who = "" if len(several.audits) == 1 else f"{other}: "
        lines.append(f"{who}“{said}”, {100 * float(audit.table.score[row]):.0f} % sure")
    return lines


def surest_and_wrong(audit: Audit) -> list[int]:
    """Rows of the few mistakes that the model is surest of."""
    table = audit.table
    return _surest(audit, table.prediction != table.y, SUREST)


def surest_with_the_guess(audit: Audit) -> list[int]:
    """Rows where model and bias model make the same mistake; those that the model is surest of first."""
    table = audit.table
    assert table.guess is not None
    return _surest(audit, (table.prediction == table.guess) & (table.prediction != table.y), MISTAKES)


def _surest(audit: Audit, chosen: np.ndarray, most: int) -> list[int]:
    rows = np.flatnonzero(chosen)
    surest: list[int] = rows[np.argsort(-audit.table.score[rows], kind="stable")][:most].tolist()
    return surest


def _seen(data: BiasedDataset, row: int) -> np.ndarray:
    """The part of an image that the model sees."""
    seen: np.ndarray = centre_crop(data.images[row], data.task.image_size)
    return seen


def _found_sections(several: SideBySide, images: PageImages) -> list[FoundSection]:
    """Discovery asks no model: what it found is shown once."""
    audit = next(iter(several.audits.values()))
    return [
        found_section(
            found_title(number, one), reasons(one.candidate.belief), guessed_groups(audit, one), SIDE, images.images
        )
        for number, one in enumerate(audit.found.shortcuts)
    ]


def _found_by_model(several: SideBySide) -> list[dict[str, Guessed]]:
    """For each found shortcut, how every model does beside it."""
    count = len(next(iter(several.audits.values())).found.shortcuts)
    return [
        {name: one.found.shortcuts[place].guessed for name, one in several.audits.items()} for place in range(count)
    ]


def _guess_table(by_model: Mapping[str, Guessed]) -> NumberTable:
    numbers = {name: guess_numbers(one) for name, one in by_model.items()}
    rows = [NumberRow(what, [one[what] for one in numbers.values()]) for what in next(iter(numbers.values()))]
    return NumberTable("Shares of images, with 95 % ranges.", "what", _columns(by_model, "share"), rows)


def _columns(by_model: Mapping[str, object], alone: str) -> list[str]:
    return [alone] if len(by_model) == 1 else list(by_model)


def _cue_table(audits: Mapping[str, Audit]) -> NumberTable:
    by_cue = {name: {one.cue: one for one in audit.followed} for name, audit in audits.items()}
    order = [one.cue for audit in audits.values() for one in audit.followed]
    what = "Share of the images for which the model names the class that the cue was taken from, with 95 % ranges"
    if len(audits) == 1:
        (found,) = by_cue.values()
        rows = [
            NumberRow(cue, [one.follows, one.anyway, one.difference], CUES[cue].meaning) for cue, one in found.items()
        ]
        return NumberTable(f"{what}.", "cue", ["cue of another class", "cue of the same class", "difference"], rows)
    rows = [
        NumberRow(cue, [(each := found.get(cue)) and each.difference for found in by_cue.values()], CUES[cue].meaning)
        for cue in dict.fromkeys(order)
    ]
    caption = f"{what}: with a cue of another class minus with one of the same class."
    return NumberTable(caption, "cue", list(audits), rows)


def _group_tables(several: SideBySide) -> list[NumberTable]:
    """Of models that saw the same images; else of the first."""
    first = next(iter(several.audits.values()))
    shown = several.audits if several.same_images else {several.first: first}
    tables = group_tables({name: one.table for name, one in shown.items()}, names_of(first))
    return [
        NumberTable(
            "Share of the images of each group that is named rightly, with 95 % ranges. “few”: fewer than 30 images, "
            "which say little.",
            f"class and {table.attribute}",
            ["go together", *_columns(shown, "right")],
            [
                NumberRow(
                    f"{group.label}, {group.value}",
                    ["yes" if group.aligned else "no", *group.accuracy.values()],
                    mark="few" if group.small else "",
                )
                for group in table.groups
            ],
            title=f"Groups of class and {table.attribute}",
        )
        for table in tables
    ]


def _class_table(several: SideBySide) -> NumberTable:
    first = next(iter(several.audits.values()))
    shown = several.audits if several.same_images else {several.first: first}
    lines = class_lines({name: one.table for name, one in shown.items()}, names_of(first))
    rows = [NumberRow(line.label, list(line.accuracy.values())) for line in lines]
    return NumberTable(
        "Share of the images of each class that is named rightly, with 95 % ranges.",
        "class",
        _columns(shown, "right"),
        rows,
    )


def _comparison(several: SideBySide, name: str) -> NumberTable | None:
    """Image by image with the first model."""
    rows = [NumberRow(one.what, _difference(one.difference)) for one in several.differences(name)]
    if not rows:
        return None
    title = f"{name} against {several.first}, image by image"
    return NumberTable(COMPARED, "images", [several.first, name, "difference", "p"], rows, title=title)


def _difference(one: Difference) -> list[Measured | str | None]:
    ends = span(Measured(one.difference, one.low, one.high, one.n))
    points = f"{100 * one.difference:+.1f} ({ends}, n = {one.n:,})"
    return [percent(one.first), percent(one.second), points, p_value(one.p)]
