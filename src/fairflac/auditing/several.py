"""Several models, before and after, audited on the same images and compared image by image."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from fairflac.auditing.images import FEWEST, AuditedImages, ImageSelection, few, in_order_of, run_of, select_images
from fairflac.auditing.pipeline import Audit, Study, audit, study
from fairflac.errors import UserError
from fairflac.inference.model import Classifier
from fairflac.metrics.comparison import Change, Difference, clearly_worse, compare
from fairflac.metrics.predictions import Predictions

UNLIKE = "These models were asked about different images, so they are not compared image by image."


@dataclass(frozen=True)
class SideBySide:
    """Audits of several models, the yardstick first."""

    audits: Mapping[str, Audit]  # by a short name of the model
    same_images: bool

    @property
    def first(self) -> str:
        return next(iter(self.audits))

    @property
    def others(self) -> list[str]:
        return list(self.audits)[1:]

    def differences(self, name: str) -> "list[NamedDifference]":
        """Of this model to the first, image by image; none where the images are not the same."""
        if not self.same_images:
            return []
        pair = {one: self.audits[one] for one in (self.first, name)}
        alike = same_found(pair)
        first, second = (_with_found(one) if alike else one.table for one in pair.values())
        found = [NamedDifference("on all images", compare(first, second)["accuracy"])]
        for attribute in first.bias:
            parts = compare(*(_only(table, attribute) for table in (first, second)))
            name = in_a_sentence(attribute)
            said = {
                "unbiased": f"on all groups of class and {attribute.replace('_', ' ')}, counting alike",
                "aligned": f"where {name} goes with the class",
                "conflicting": f"where {name} contradicts the class",
            }
            found += [NamedDifference(what, parts[key], key, attribute) for key, what in said.items() if key in parts]
        return found

    def worse_classes(self, name: str) -> list[Change]:
        """Classes that this model names rightly less often than the first, by more than chance explains."""
        if not self.same_images:
            return []
        return clearly_worse(self.audits[self.first].table, self.audits[name].table)


class NamedDifference(NamedTuple):
    what: str  # on which images, in words
    difference: Difference
    key: str = "accuracy"  # as in `compare`
    attribute: str = ""  # that the images are grouped by


def audit_several(
    models: Sequence[Classifier],
    selection: ImageSelection,
    *,
    names: Sequence[str] = (),
    seed: int = 0,
    silent: bool = False,
) -> SideBySide:
    """Each on the images that all of them are asked about, where there are enough; else on its own."""
    called = model_names(models, names)
    numbered = [_numbered_alike(model, select_images(model, selection), models[0]) for model in models]
    chosen, same = _in_common([images for _, images in numbered])
    models = [model for model, _ in numbered]
    studies: dict[object, Study] = {}
    audits = {}
    for name, model, images in zip(called, models, chosen, strict=True):
        alike = [images for other, images in zip(models, chosen, strict=True) if _sees(other) == _sees(model)]
        key = _sees(model) if same else name
        if key not in studies and len(images.data) >= FEWEST:  # fewer are refused below
            with_training = (one for one in alike if same and one.training is not None)
            studies[key] = study(next(with_training, images), selection.root, seed=seed, silent=silent)
        audits[name] = audit(model, images, selection.root, seed=seed, silent=silent, studied=studies.get(key))
    return SideBySide(audits, same)


def model_names(models: Sequence[Classifier], given: Sequence[str] = ()) -> list[str]:
    """Those that the user gives; else the method of a run and the name of a file, with folders where two are alike."""
    if given:
        if len(given) != len(models) or len({*given}) < len(given):
            raise UserError(
                f"{len(given)} names were given for {len(models)} models: give each model a name of its own"
            )
        return list(given)
    runs = [run_of(model) for model in models]
    short = [
        PurePath(model.source).stem if run is None else run.method for model, run in zip(models, runs, strict=True)
    ]
    parts = [PurePath(model.source).parts or (model.source,) for model in models]
    long = next(
        (
            tails
            for length in range(1, max(map(len, parts)) + 1)
            if len({*(tails := ["/".join(one[-length:]) for one in parts])}) == len(models)
        ),
        [f"{model.source} ({number})" for number, model in enumerate(models, start=1)],
    )
    return [name if short.count(name) == 1 else tail for name, tail in zip(short, long, strict=True)]


def _sees(model: Classifier) -> object:
    """What it makes of files: models with the same are shown the same pixels."""
    return model.image_size, model.decoded_size, model.fit


def _numbered_alike(model: Classifier, images: AuditedImages, first: Classifier) -> tuple[Classifier, AuditedImages]:
    """With the first model's numbers of classes, or in the order of their names where it has none."""
    own = images.data.task.classes
    classes = tuple(sorted(own)) if first.classes is None else first.classes
    if sorted(classes) != sorted(own):
        raise UserError(f"'{first.source}' knows the classes {few(classes)}, and '{model.source}' {few(own)}")
    order, logits = [own.index(name) for name in classes], model.logits
    renumbered = replace(model, classes=classes, logits=lambda pixels: logits(pixels)[:, order])
    data, training = (part and in_order_of(renumbered, part) for part in (images.data, images.training))
    assert data is not None
    return renumbered, replace(images, data=data, training=training)


def _in_common(chosen: list[AuditedImages]) -> tuple[list[AuditedImages], bool]:
    """A run is asked about its test split and other models about all images: what is in all of them is kept."""
    keys = [list(zip(images.data.names.tolist(), images.data.y.tolist(), strict=True)) for images in chosen]
    if all(own == keys[0] for own in keys):
        return chosen, True
    shared = set(keys[0]).intersection(*keys)
    if len(shared) < FEWEST:
        return chosen, False
    wanted = list(dict.fromkeys(key for key in keys[0] if key in shared))
    note = f"Of these, the {len(wanted):,} that all models are asked about: the same for each."
    cut = []
    for images, own in zip(chosen, keys, strict=True):
        place = {key: row for row, key in enumerate(own)}
        data = images.data.take(np.array([place[key] for key in wanted]))
        cut.append(replace(images, data=data, notes=(*images.notes, note)))
    return cut, True


FOUND = re.compile(r"shortcut \d+")  # what discovery found has no name, and numbers in its place


def in_a_sentence(attribute: str) -> str:
    return attribute if FOUND.fullmatch(attribute) else f"the {attribute.replace('_', ' ')}"


def _with_found(one: Audit) -> Predictions:
    """What discovery found stands beside what is known: groups that models can be compared on."""
    table, found = one.table, {f"shortcut {k + 1}": each for k, each in enumerate(one.found.shortcuts)}
    new = {name: each for name, each in found.items() if name not in table.bias}
    bias = {**table.bias, **{name: each.value for name, each in new.items()}}
    aligned = {**table.aligned, **{name: each.suggested == table.y for name, each in new.items()}}
    return replace(table, bias=bias, aligned=aligned, repeats={})


def _only(table: Predictions, attribute: str) -> Predictions:
    return replace(table, bias={attribute: table.bias[attribute]}, aligned={attribute: table.aligned[attribute]})


def same_found(audits: Mapping[str, Audit]) -> bool:
    """Discovery found the same groups for every model: they saw the same pixels."""
    found = [one.found.shortcuts for one in audits.values()]
    return all(
        len(one) == len(found[0]) and all(np.array_equal(a.value, b.value) for a, b in zip(one, found[0], strict=True))
        for one in found
    )


def one_model(found: Audit) -> SideBySide:
    """For pages, which show any number of models."""
    return SideBySide({found.source: found}, same_images=True)
