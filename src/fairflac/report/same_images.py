"""Models can be set side by side, image by image, only where they were tested on the same images."""

from collections.abc import Mapping

from fairflac.predictions import Predictions


def on_the_same_images(tables: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """The first model, and all that were tested on the images it was tested on."""
    first = next(iter(tables.values()))
    return {
        name: table
        for name, table in tables.items()
        if table.same_images(first) and table.bias.keys() == first.bias.keys()
    }
