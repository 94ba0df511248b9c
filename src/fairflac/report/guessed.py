"""Does a model lean on a shortcut, and did training against it help? Said where nobody has labelled the attribute.

What the bias model guesses stands in for it: a hint, and called so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairflac.metrics.comparison import Difference, compare
from fairflac.metrics.lean import Lean, lean, spoken_for
from fairflac.metrics.pseudo import with_pseudo_groups
from fairflac.predictions import Predictions
from fairflac.report.models import Model
from fairflac.report.ranges import with_range
from fairflac.report.tables import percent
from fairflac.report.verdict import VISIBLE_GAP, Verdict

HINT = (
    "The test images carry no label that tells which of them follow a shortcut and which do not; the guess of the bias "
    "model stands in for it. Take what follows as a hint and not as proof."
)


def guessed_verdict(models: Sequence[Model], tables: Mapping[str, Predictions]) -> Verdict | None:
    """Of models that were tested on the same images; None if no bias model guessed anything there."""
    asked = next((model for model in models if model.name in tables and tables[model.name].guess is not None), None)
    if asked is None:
        return None
    guess = tables[asked.name].guess
    assert guess is not None
    same = {name: replace(table, guess=guess) for name, table in tables.items()}
    of_classes = (asked.run.config.get("bias_model") or {}).get("target", "class") == "class"
    speaks_for = None if of_classes else spoken_for(next(iter(same.values())).y, guess)
    leans = {name: found for name, table in same.items() if (found := lean(table, speaks_for))}
    return Verdict([HINT, *(lean_sentence(name, found) for name, found in leans.items())], _gains(models, same))


def guessed_gains(plain: Predictions, others: Mapping[str, Predictions]) -> dict[str, Difference]:
    """Of each model over the plain one, image by image, all groups of class and guess counting alike."""
    base = with_pseudo_groups(plain)
    grouped = {name: with_pseudo_groups(table) for name, table in others.items()}
    return {
        name: compare(base, table)["unbiased"]
        for name, table in grouped.items()
        if base is not None and table is not None
    }


def lean_sentence(name: str, found: Lean) -> str:
    elsewhere = percent(found.elsewhere.value)
    numbers = (
        f"Where the guess contradicts the class, the {name} model names the guessed class for "
        f"{with_range(found.follows)} of the images, and for {elsewhere} of other images of the same class"
    )
    if found.difference.low <= VISIBLE_GAP:
        return f"{numbers}: there is no clear sign that it leans on what the bias model sees."
    return f"{numbers}: it leans on what the bias model sees, or finds the same images hard."


def gain_sentence(name: str, gain: Difference) -> str:
    ends = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}, n = {gain.n:,}"
    return (
        f"With every group of class and guess counting alike, {name} is right on {percent(gain.second)} and vanilla on "
        f"{percent(gain.first)}: {100 * gain.difference:+.1f} points ({ends})."
    )


def _gains(models: Sequence[Model], tables: Mapping[str, Predictions]) -> list[str]:
    plain = [model.name for model in models if model.method == "vanilla" and model.name in tables]
    if not plain:
        return []
    base = max(plain, key=lambda name: float(np.mean(tables[name].prediction == tables[name].y)))
    others = {name: table for name, table in tables.items() if name not in plain}
    return [gain_sentence(name, gain) for name, gain in guessed_gains(tables[base], others).items()]
