"""All test images on maps of the features, to be clicked, filtered and compared: what `templates/explorer.js` draws."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import is_color_like, to_hex

from fairflac.metrics.groups import JOINT
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import nearest_of, subsample
from fairflac.reporting.figures.feature_map import Colouring, nearest_shares, places
from fairflac.reporting.figures.images import conflicting
from fairflac.reporting.naming import Names, combinations, known_attribute
from fairflac.reporting.pictures import ExampleImages, ModelAnswer, Sprite, Thumbnail, answer, overview_sprite
from fairflac.reporting.verdict import GuessedModels
from fairflac.runs.gallery import MOST_SHOWN

MODELS = 4  # maps that a reader can compare; of more models the first
NOWHERE = 65535  # in place of a number: the image was not kept


SEVERAL = "Several shortcuts were found, and a guess names a value of each, in their order, as in “{}”."


class Grouping(NamedTuple):
    """Groups of images by a known attribute, or by what was guessed in its place."""

    word: str  # what is grouped by, in a sentence
    value: np.ndarray  # (N,)
    names: list[str]
    against: np.ndarray  # (N,) the value does not go with the class
    note: str = ""  # how to read the names


def grouping(table: Predictions, names: Names, guesses: GuessedModels | None) -> Grouping | None:
    """None: neither labels nor guesses are there."""
    if word := known_attribute(table):
        joint = combinations(table)
        first = np.unique(joint, return_index=True)[1]
        return Grouping(word, joint, [names.of_values(table, int(row)) for row in first], conflicting(table))
    if guesses is None:
        return None
    values = range(int(guesses.guess.max(initial=0)) + 1)
    named = [names.of_class(value) if guesses.of_classes else guesses.names.of_guess(value) for value in values]
    several = len(named) > 1 and all(JOINT in name for name in named)
    return Grouping("guess", guesses.guess, named, guesses.against, SEVERAL.format(named[0]) if several else "")


@dataclass(frozen=True)
class Neighbours:
    """The kept images that are most alike to the chosen one, to one model."""

    thumbnails: list[Thumbnail]
    same_class: list[bool]
    same_group: list[bool]
    groups: list[str]  # of each, its name


@dataclass(frozen=True)
class Explorer:
    models: list[str]
    classes: list[str]
    groups: list[str]  # names of their values; empty where nothing is known
    word: str  # what is grouped by
    note: str  # how to read the names
    known: bool  # from labels; else guessed
    count: int  # images on the maps
    shares: list[str]  # how often the nearest image is of the same class or group, a clause for each model
    overview: Sprite | None
    chosen: Thumbnail | None  # the image that is shown first; None: no image was kept
    chosen_group: str
    answers: dict[str, ModelAnswer]  # to it
    neighbours: dict[str, Neighbours]  # of it
    data: dict[str, Any]  # for the script


def explorer(
    tables: Mapping[str, Predictions], names: Names, groups: Grouping | None, examples: ExampleImages | str
) -> Explorer:
    """Of models that were tested on the same images."""
    tables = dict(list(tables.items())[:MODELS])
    first = next(iter(tables.values()))
    kept = examples if isinstance(examples, ExampleImages) else None
    rows = subsample(len(first), MOST_SHOWN)
    if kept:
        rows = np.union1d(rows, kept.rows)
    place = np.full(len(first), NOWHERE)
    if kept:
        place[kept.rows] = np.arange(len(kept.rows))
    tiny = np.full(len(first), NOWHERE)
    if kept and kept.overview:
        tiny[kept.overview.index] = np.arange(len(kept.overview.index))
    classes = names.all_classes(first)
    near = {name: _near(table, rows, place[rows], kept) for name, table in tables.items()}
    start = _start(first, rows, kept)
    data = {
        "classes": classes,
        "groups": groups.names if groups else [],
        "colours": _colours(groups.names if groups else []),
        "y": packed(first.y[rows]),
        "group": packed(groups.value[rows]) if groups else "",
        "against": packed(groups.against[rows], "u1") if groups else "",
        "place": packed(place[rows]),
        "tiny": packed(tiny[rows]),
        "point": packed(np.searchsorted(rows, kept.rows)) if kept else "",
        "names": [one.name for one in kept.thumbnails] if kept else [],
        "columns": kept.sprite.columns if kept else 1,
        "tinyColumns": kept.overview.columns if kept and kept.overview else 1,
        "start": start,
        "models": [_of_model(name, table.take(rows), near[name]) for name, table in tables.items()],
    }
    row = int(rows[start])
    chosen = kept.thumbnails[place[row]] if kept else None
    return Explorer(
        models=list(tables),
        classes=classes,
        groups=groups.names if groups else [],
        word=groups.word if groups else "",
        note=groups.note if groups else "",
        known=bool(first.bias),
        count=len(rows),
        shares=_shares(tables, groups),
        overview=overview_sprite(kept.overview) if kept and kept.overview else None,
        chosen=chosen,
        chosen_group=groups.names[int(groups.value[row])] if groups else "",
        answers={name: answer(table, row, names) for name, table in tables.items()},
        neighbours={name: _neighbours(row, found[start], first, groups, kept) for name, found in near.items()}
        if kept
        else {},
        data=data,
    )


def packed(values: np.ndarray, kind: str = "<u2") -> str:
    return b64encode(values.astype(kind).tobytes()).decode()


def _of_model(name: str, table: Predictions, near: np.ndarray) -> dict[str, Any]:
    spots = places(table.features)
    low, high = spots.min(0), spots.max(0)
    whole = (spots - low) / np.where(high > low, high - low, 1) * 65535
    return {
        "name": name,
        "x": packed(whole[:, 0].round()),
        "y": packed(whole[:, 1].round()),
        "said": packed(table.prediction),
        "sure": packed(np.clip(100 * table.score, 0, 100).round(), "u1"),
        "near": packed(near),
        "count": near.shape[1],
    }


def _near(table: Predictions, rows: np.ndarray, place: np.ndarray, kept: ExampleImages | None) -> np.ndarray:
    """(M, 8) places of the images most alike to each, among those that all models kept."""
    if kept is None:
        return np.zeros((len(rows), 0), dtype=np.int64)
    own = np.where(place < kept.common, place, -1)
    return nearest_of(table.features[rows], table.features[kept.rows[: kept.common]], own=own)[0]


def _start(table: Predictions, rows: np.ndarray, kept: ExampleImages | None) -> int:
    """Point of the image that is shown first: a mistake of the first model, where there is one."""
    if kept is None:
        return 0
    worst = next(iter(kept.mistakes.values()))
    place = worst[0].thumbnail.place if worst else 0
    return int(np.searchsorted(rows, kept.rows[place]))


def _neighbours(
    row: int, near: np.ndarray, table: Predictions, groups: Grouping | None, kept: ExampleImages
) -> Neighbours:
    others = kept.rows[near]
    same = groups.value[others] == groups.value[row] if groups else np.zeros(len(others), dtype=bool)
    return Neighbours(
        [kept.thumbnails[one] for one in near],
        (table.y[others] == table.y[row]).tolist(),
        same.tolist(),
        [groups.names[value] for value in groups.value[others].tolist()] if groups else [],
    )


def _shares(tables: Mapping[str, Predictions], groups: Grouping | None) -> list[str]:
    first = next(iter(tables.values()))
    if len(first) < 2:
        return []
    kinds = [Colouring("class", first.y, [])]
    if groups:
        kinds.append(Colouring(groups.word, groups.value, []))
    return [nearest_shares(name, table.features, kinds) for name, table in tables.items()]


def _colours(names: list[str]) -> list[str]:
    """Values that are names of colours, as those of digits on coloured grounds, are drawn in them."""
    return [to_hex(name) for name in names] if names and all(map(is_color_like, names)) else []
