"""Classes of a model and of images: the same, in the order of the model."""

from dataclasses import replace

import numpy as np

from fairflac.data.base import BiasedDataset
from fairflac.errors import UserError
from fairflac.trained.model import Trained

NAMED = 5  # in a message


def in_order_of(model: Trained, data: BiasedDataset) -> BiasedDataset:
    """The same images, their classes numbered as the model does it."""
    own = data.task.classes
    if model.classes is None or model.classes == own:
        _check_count(model, data)
        return data
    if sorted(model.classes) != sorted(own):
        raise UserError(
            f"'{model.source}' knows the classes {few(model.classes)}, and the images have {few(own)}: "
            "they must have the same names"
        )
    new = np.array([model.classes.index(name) for name in own])
    old = [own.index(name) for name in model.classes]
    attributes = {
        name: replace(attribute, aligned=tuple(attribute.aligned[place] for place in old))
        for name, attribute in data.task.attributes.items()
    }
    return replace(data, y=new[data.y], task=replace(data.task, classes=model.classes, attributes=attributes))


def taken_for_granted(model: Trained, data: BiasedDataset) -> list[str]:
    """What is said where nobody knows the order."""
    if model.classes is not None:
        return []
    numbered = few(tuple(f"{number} = {name}" for number, name in enumerate(data.task.classes)))
    return [f"The model does not name its classes; they were taken in the order of their names: {numbered}."]


def few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _check_count(model: Trained, data: BiasedDataset) -> None:
    outputs, classes = model(np.asarray(data.images[:1])).shape[1], len(data.task.classes)
    if outputs != classes:
        raise UserError(
            f"'{model.source}' tells {outputs} classes apart, and the images have {classes}: {few(data.task.classes)}"
        )
