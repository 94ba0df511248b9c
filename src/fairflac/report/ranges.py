"""A number with its range and how much is behind it, in a table and in a sentence."""

from fairflac.metrics import Measured
from fairflac.report.tables import percent


def span(number: Measured) -> str:
    """The two ends, in percent."""
    between = " to " if number.low < 0 else "–"  # a dash beside a minus cannot be read
    return f"{100 * number.low:.1f}{between}{100 * number.high:.1f}"


def with_range(number: Measured, unit: str = "") -> str:
    """A share; n counts images unless another unit is named."""
    return f"{percent(number.value)} ({span(number)}, n = {number.n:,}{unit})"
