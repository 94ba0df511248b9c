"""The test images that a page shows: queries with their nearest neighbours, and each model's surest mistakes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import nearest
from fairflac.reporting.naming import Names, combinations
from fairflac.reporting.page.pictures import Sprite, sprite
from fairflac.runs.gallery import Gallery

MISTAKES = 12  # shown of each model


@dataclass(frozen=True)
class Tile:
    """One image, at its place in the sprite."""

    place: int
    label: str  # its class
    value: str  # of its attribute; empty when that is not known
    name: str  # where it comes from
    y: int
    joint: int  # the combination of its attribute values, as a number


@dataclass(frozen=True)
class Mistake:
    tile: Tile
    said: str  # the class that the model named
    score: float  # how sure it was


@dataclass(frozen=True)
class Exhibits:
    sprite: Sprite
    tiles: list[Tile]  # the queries, sorted by class and attribute
    neighbours: dict[str, list[list[int]]]  # per model, for each query the places of the nearest
    mistakes: dict[str, list[Mistake]]  # per model, the surest first
    wrong: dict[str, int]  # per model, how many mistakes there are

    def data(self) -> dict[str, Any]:
        """What the page's script needs."""
        return {
            "columns": self.sprite.columns,
            "tiles": [[tile.label, tile.value, tile.name, tile.y, tile.joint] for tile in self.tiles],
            "neighbours": list(self.neighbours.values()),
        }


def exhibits(tables: Mapping[str, Predictions], galleries: Mapping[str, Path], names: Names) -> Exhibits | str:
    """Of models that were tested on the same images; or in a sentence why there is nothing to see."""
    without = [name for name in tables if not galleries[name].exists()]
    if without:
        return f"There are no images to show: {', '.join(without)} kept none of its test images. Train it anew."
    kept = {name: Gallery.load(galleries[name]) for name in tables}
    surest = {name: _surest(table, kept[name]) for name, table in tables.items()}
    table = next(iter(tables.values()))
    common = _sorted(_common(list(kept.values())), table)
    if len(common) < 2:
        return "There are no images to show: these models kept no test image in common."
    others = sorted({int(row) for rows in surest.values() for row in rows} - set(common.tolist()))
    shown = [*common.tolist(), *others]
    images = {int(i): (g.images[k], str(g.names[k])) for g in kept.values() for k, i in enumerate(g.index)}
    joint = combinations(table)
    tiles = {
        row: Tile(
            place,
            names.of_class(int(table.y[row])),
            names.of_values(table, row),
            images[row][1],
            int(table.y[row]),
            int(joint[row]),
        )
        for place, row in enumerate(shown)
    }
    return Exhibits(
        sprite(np.stack([images[row][0] for row in shown])),
        [tiles[row] for row in common.tolist()],
        {name: nearest(table.features[common]).tolist() for name, table in tables.items()},
        {name: _mistakes(tables[name], rows, tiles, names) for name, rows in surest.items()},
        {name: int((table.prediction != table.y).sum()) for name, table in tables.items()},
    )


def _common(galleries: list[Gallery]) -> np.ndarray:
    common = galleries[0].index
    for gallery in galleries[1:]:
        common = np.intersect1d(common, gallery.index)
    return common


def _sorted(rows: np.ndarray, table: Predictions) -> np.ndarray:
    """By class, then by attribute, so that an image of a kind is easy to find."""
    ordered: np.ndarray = rows[np.lexsort((combinations(table)[rows], table.y[rows]))]
    return ordered


def _surest(table: Predictions, gallery: Gallery) -> np.ndarray:
    """Rows of mistakes whose image was kept."""
    wrong = gallery.index[table.prediction[gallery.index] != table.y[gallery.index]]
    surest: np.ndarray = wrong[np.argsort(-table.score[wrong], kind="stable")][:MISTAKES]
    return surest


def _mistakes(table: Predictions, rows: np.ndarray, tiles: dict[int, Tile], names: Names) -> list[Mistake]:
    return [
        Mistake(tiles[row], names.of_class(int(table.prediction[row])), float(table.score[row]))
        for row in rows.tolist()
    ]
