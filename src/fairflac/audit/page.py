"""An audit as one page that needs nothing else: the answer, what it rests on, and the images that decide."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from fairflac import __version__
from fairflac.audit.cues import CUES
from fairflac.audit.exchange import Followed
from fairflac.audit.verdict import NO_PROOF, verdict
from fairflac.audit.words import MODEL, guess_numbers, names_of
from fairflac.audit.work import Audit
from fairflac.data.base import BiasedDataset
from fairflac.data.boxes import centre_offset
from fairflac.files import write_text
from fairflac.metrics.evidence import strength
from fairflac.report.certainty import DRAWN
from fairflac.report.groups import group_tables
from fairflac.report.html import environment
from fairflac.report.sprite import Sprite, sprite

MISTAKES = 12
SIDE = 96  # pixels of an image on the page, at most


@dataclass(frozen=True)
class Tile:
    """One image and what stands under it."""

    place: int
    name: str  # where it comes from
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Exhibits:
    sprite: Sprite | None  # None: there is nothing to show
    cue: Followed | None  # the most followed
    trios: list[tuple[Tile, Tile, Tile]]  # an image, the one that gave its cue, and what came of it
    mistakes: list[Tile]  # as the bias model has it, the surest first


def write(audit: Audit, path: Path) -> None:
    write_text(path, render(audit))


def render(audit: Audit) -> str:
    template = environment("fairflac.audit").get_template("audit.html")
    return template.render(
        audit=audit,
        said=verdict(audit),
        exhibits=exhibits(audit),
        guess_numbers=guess_numbers(audit),
        meanings={name: cue.meaning for name, cue in CUES.items()},
        groups=group_tables({MODEL: audit.table}, names_of(audit)),
        model=MODEL,
        drawn=DRAWN,
        no_proof=NO_PROOF,
        version=__version__,
    )


def exhibits(audit: Audit) -> Exhibits:
    images: list[np.ndarray] = []
    names, table, data = names_of(audit), audit.table, audit.subject.data
    said = [names.of_class(int(label)) for label in table.prediction]

    def tile(row: int, *lines: str, image: np.ndarray | None = None) -> Tile:
        images.append(_small(_seen(data, row) if image is None else image))
        return Tile(len(images) - 1, str(data.names[row]), lines)

    cue = audit.followed[0] if audit.followed and strength("cue", audit.followed[0].difference) else None
    trios = [
        (
            tile(row, f"“{said[row]}”"),
            tile(giver, f"“{said[giver]}”"),
            tile(row, f"“{said[giver]}”", image=changed),
        )
        for row, giver, changed in (cue.examples if cue else ())
    ]
    mistakes = [tile(row, names.of_class(int(table.y[row])), f"“{said[row]}”") for row in surest_with_the_guess(audit)]
    return Exhibits(sprite(np.stack(images)) if images else None, cue, trios, mistakes)


def surest_with_the_guess(audit: Audit) -> list[int]:
    """Rows where model and bias model make the same mistake; those that the model is surest of first."""
    table = audit.table
    assert table.guess is not None
    wrong = np.flatnonzero((table.prediction == table.guess) & (table.prediction != table.y))
    rows: list[int] = wrong[np.argsort(-table.score[wrong], kind="stable")][:MISTAKES].tolist()
    return rows


def _seen(data: BiasedDataset, row: int) -> np.ndarray:
    """The part of an image that the model sees."""
    image, (height, width) = data.images[row], data.task.image_size
    top, left = centre_offset((image.shape[0], image.shape[1]), (height, width))
    seen: np.ndarray = image[top : top + height, left : left + width]
    return seen


def _small(image: np.ndarray) -> np.ndarray:
    height, width = image.shape[:2]
    scale = min(1.0, SIDE / max(height, width))
    size = (max(1, round(scale * width)), max(1, round(scale * height)))
    return np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize(size, Image.Resampling.BOX))
