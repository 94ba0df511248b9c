"""What can be said where no attribute is known but a bias model is: a hint, and called so."""

from collections.abc import Mapping

from fairflac.metrics import measure
from fairflac.metrics.pseudo import with_pseudo_groups
from fairflac.predictions import Predictions
from fairflac.report.ranges import with_range


def pseudo_group_sentences(tables: Mapping[str, Predictions]) -> list[str]:
    """One for each model that kept what its bias model named."""
    sentences = []
    for name, table in tables.items():
        if guessed := with_pseudo_groups(table):
            numbers = measure(guessed)
            usual, other = numbers.get("aligned"), numbers.get("conflicting")
            if usual and other:
                sentences.append(
                    f"{name} is right on {with_range(usual)} of the images for which its bias model named what it "
                    f"usually named for training images of their class, and on {with_range(other)} of the others, "
                    "groups counting alike."
                )
    return sentences
