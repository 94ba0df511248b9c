"""Two runs side by side, as text."""

from collections.abc import Mapping

from fairflac.metrics.comparison import CLEAR, Difference
from fairflac.metrics.scores import percent
from fairflac.reporting.trained_on import labels
from fairflac.runs.directory import Run


def as_text(first: Run, second: Run, numbers: Mapping[str, Difference]) -> str:
    """A line for each number, and what one may conclude."""
    names = [f"{_name(run)} (labels: {labels(run).cell})" for run in (first, second)]
    width = max(map(len, numbers))
    head = f"{names[1]} against {names[0]}, {numbers['accuracy'].n} images"
    lines = [f"{'':{width}}  {'first':>8}  {'second':>8}  {'difference':>10}  {'95 % interval':>17}  {'p':>7}"]
    for name, one in numbers.items():
        interval = f"{_points(one.low)} to {_points(one.high)}"
        shown = f"{percent(one.first):>8}  {percent(one.second):>8}  {_points(one.difference):>10}  {interval:>17}"
        lines.append(f"{name.replace('_', ' '):{width}}  {shown}  {_probability(one.p):>7}")
    return "\n".join([head, *lines, _verdict(numbers), ""])


def _verdict(numbers: Mapping[str, Difference]) -> str:
    name = "unbiased" if "unbiased" in numbers else "accuracy"
    one, kind = numbers[name], name.replace("accuracy", "overall")
    if one.p >= CLEAR:
        return f"No clear difference in {kind} accuracy: one as large is common between two models that are alike."
    better = "better" if one.difference > 0 else "worse"
    return f"The second run is {better} in {kind} accuracy: these two trained models, that is; other seeds may differ."


def _name(run: Run) -> str:
    return "/".join(run.path.resolve().parts[-3:])


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
