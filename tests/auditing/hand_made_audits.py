"""Audits made by hand, of a few images and any numbers."""

import numpy as np

from fairflac.auditing.cues import Example, Followed
from fairflac.auditing.images import AuditedImages
from fairflac.auditing.pipeline import Audit
from fairflac.auditing.shortcuts import FoundShortcut, FoundShortcuts
from fairflac.data.base import BiasedDataset
from fairflac.discovery.belief import Belief
from fairflac.discovery.search import Candidate
from fairflac.discovery.witnesses import Testimony
from fairflac.metrics import Measured
from fairflac.metrics.evidence import Guessed, Lean
from fairflac.metrics.predictions import Predictions
from fairflac.types import Attribute, TaskSpec

N = 60


def measured(low: float, n: int = 500) -> Measured:
    """Of which the lower end is given."""
    return Measured(low + 0.02, low, low + 0.04, n)


def made_audit(
    cue: float = 0.0,
    lean: float = 0.0,
    against: int = 100,
    classes: int = 3,
    better_than_chance: bool = True,
    disagree: float = 0.85,
    gaps: dict[str, Measured] | None = None,
    names: tuple[str, ...] | None = None,
    files: str = "image {}.png",
    attribute: bool = False,
    found: tuple[FoundShortcut, ...] = (),
    unexplained: float | None = None,
) -> Audit:
    """`cue`, `lean`: the lower end of what is measured of the border and beside the bias model; `disagree`: of the
    accuracy where its guess is wrong, which is 0.9 elsewhere; `unexplained`: as `lean`, without what is found."""
    y = np.arange(N) % classes
    labels = names or tuple("abcdef"[:classes])
    attributes = {"hue": Attribute(("red", "blue"), (0, 1) * 3)} if attribute else {}
    bias = {"hue": np.arange(N) % 2} if attribute else {}
    images = np.random.default_rng(0).integers(0, 256, (N, 10, 10, 3), dtype=np.uint8)
    task = TaskSpec(labels, attributes, (8, 8), (0.5,) * 3, (0.5,) * 3)
    data = BiasedDataset(images, y, bias, np.array([files.format(i) for i in range(N)]), "test", task)
    table = Predictions(
        index=np.arange(N),
        y=y,
        prediction=np.roll(y, 1),
        score=np.linspace(0.5, 1, N),
        features=np.eye(classes)[y],
        bias=bias,
        aligned={name: values == y % 2 for name, values in bias.items()},
        guess=np.roll(y, 1),
    )
    examples = tuple(Example(row, row + 1, images[row, 1:-1, 1:-1]) for row in range(3))
    followed = [Followed("border", measured(cue), measured(0.0), measured(cue), examples)]
    guessed, rest = (
        Guessed(
            classes,
            measured(0.7 if better_than_chance else 0.1),
            agree=measured(0.9, 200),
            disagree=measured(disagree, against) if against else None,
            lean=made_lean(low),
        )
        for low in (lean, lean if unexplained is None else unexplained)
    )
    discovered = FoundShortcuts("60 audited images", ("8 x 8 pixels",), found)
    notes, how = ("60 images.",), "trained on nothing at all"
    images = AuditedImages(data, None, notes)
    return Audit("some/model", images, table, measured(0.8), followed, discovered, guessed, rest, how, gaps or {})


def made_lean(low: float) -> Lean:
    return Lean(measured(low), measured(0.0), measured(low))


def made_shortcut(lean: float, against: int = 100, classes: int = 3) -> FoundShortcut:
    """Believed, with the lower end of how far the audited model leans on it."""
    y = np.arange(N) % classes
    value = np.where(np.arange(N) < 12, 1 - y % 2, y % 2)
    belief = Belief(0.8, 0.9, Measured(2.0, 1.8, 2.2, 12), made_lean(0.5))
    counts = np.array([[18, 2], [2, 18], [18, 2]])[:classes]
    guessed = Guessed(classes, None, measured(0.9, 200), measured(0.5, against), made_lean(lean), found=True)
    testimony = Testimony(value, np.linspace(0.5, 1, N))
    return FoundShortcut(Candidate("linear", "8 x 8 pixels", testimony, belief), counts, *testimony, guessed)
