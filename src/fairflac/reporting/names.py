"""What the classes and the values of attributes are called."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairflac.metrics.predictions import Predictions


@dataclass(frozen=True)
class Names:
    """A run that did not keep its names has numbers in their place."""

    classes: list[str]
    values: dict[str, list[str]]  # per attribute

    @classmethod
    def of(cls, result: dict[str, Any]) -> "Names":
        values = result.get("attributes") or {}
        return cls(list(result.get("classes") or []), {name: list(known) for name, known in values.items()})

    def all_classes(self, table: Predictions) -> list[str]:
        """One name per class that there is, or that was named."""
        most = int(max(table.y.max(initial=-1), table.prediction.max(initial=-1))) + 1
        return [self.of_class(label) for label in range(max(most, len(self.classes)))]

    def of_class(self, y: int) -> str:
        return _at(self.classes, y)

    def of_value(self, attribute: str, value: int) -> str:
        return _at(self.values.get(attribute, []), value)

    def of_values(self, table: Predictions, row: int) -> str:
        """All attributes of one image; an attribute that repeats another is the same thing said twice."""
        parts = [self.of_value(name, int(values[row])) for name, values in table.bias.items()]
        return ", ".join(dict.fromkeys(parts))


def known_attribute(table: Predictions) -> str | None:
    """The attribute in a sentence; several that measure the same thing are one. None: it is not known."""
    kinds = dict.fromkeys(table.repeats.get(name, name) for name in table.bias)
    return " or ".join(name.replace("_", " ") for name in kinds) or None


def combinations(table: Predictions) -> np.ndarray:
    """(N,) a number for each combination of attribute values that occurs; all 0 where no attribute is known."""
    if not table.bias:
        return np.zeros(len(table), dtype=np.int64)
    joint: np.ndarray = np.unique(np.stack(list(table.bias.values())), axis=1, return_inverse=True)[1]
    return joint.reshape(-1)


def _at(names: list[str], place: int) -> str:
    return names[place] if 0 <= place < len(names) else str(place)
