"""A table of the paper with our numbers in it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

from fairflac.reproduce.published import Value


@dataclass(frozen=True)
class Cell:
    """Our results, one per seed, in the unit of the paper, and the paper's own."""

    values: tuple[float, ...]
    published: Value | None
    missing: str = ""  # why there are no values, or fewer than planned

    @property
    def mean(self) -> float | None:
        return fmean(self.values) if self.values else None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.mean is None or self.published is None else self.mean - self.published.mean

    @property
    def std(self) -> float | None:
        """Over seeds, of the sample."""
        return stdev(self.values) if len(self.values) > 1 else None


class Head(NamedTuple):
    """A column."""

    name: str
    digits: int = 1
    lower_is_better: bool = False
    paper_name: str = ""  # of the paper's column, where ours has other settings and another name


@dataclass(frozen=True)
class Filled:
    """Rows times columns."""

    name: str
    title: str
    reduced: bool  # not the paper's protocol, so its numbers cannot be compared with ours
    heads: tuple[Head, ...]
    rows: dict[str, tuple[Cell, ...]]  # a cell for each head
    notes: tuple[str, ...]  # what a reader must know: scale, selection, seeds, hardware

    def best(self, column: int, *, published: bool = False) -> float | None:
        """The best number of a column, as it is printed; None if there are not two to compare."""
        head = self.heads[column]
        found = [self.printed(cells[column], head, published=published) for cells in self.rows.values()]
        numbers = [number for number in found if number is not None]
        if len(numbers) < 2:
            return None
        return min(numbers) if head.lower_is_better else max(numbers)

    @staticmethod
    def printed(cell: Cell, head: Head, *, published: bool = False) -> float | None:
        """A mean as rounded as readers see it: equal to the eye is equal."""
        value = cell.published.mean if published and cell.published else None if published else cell.mean
        return None if value is None or math.isnan(value) else round(value, head.digits)

    def records(self) -> Iterator[dict[str, Any]]:
        """One flat record per cell, for programs."""
        for row, cells in self.rows.items():
            for head, cell in zip(self.heads, cells, strict=True):
                published = cell.published
                yield {
                    "table": self.name,
                    "scale": "cpu" if self.reduced else "paper",
                    "row": row,
                    "column": head.name,
                    "paper_column": head.paper_name or head.name,
                    "mean": cell.mean,
                    "std": cell.std,
                    "n": len(cell.values),
                    "values": list(cell.values),
                    "paper_mean": published.mean if published else None,
                    "paper_std": published.std if published else None,
                    "difference": None if self.reduced else cell.difference,
                    "missing": cell.missing or None,
                }
