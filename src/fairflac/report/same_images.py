"""Models can be set side by side, image by image, only where they were tested on the same images."""

from collections.abc import Mapping

import numpy as np

from fairflac.predictions import Predictions


def on_the_same_images(tables: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """The first model, and all that were tested on the images it was tested on."""
    first = next(iter(tables.values()))
    return {name: table for name, table in tables.items() if table is first or _alike(table, first)}


def _alike(one: Predictions, other: Predictions) -> bool:
    return (
        np.array_equal(one.index, other.index)
        and np.array_equal(one.y, other.y)
        and one.bias.keys() == other.bias.keys()
        and all(np.array_equal(values, other.bias[name]) for name, values in one.bias.items())
    )
