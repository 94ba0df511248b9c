"""How sure the numbers are, in words."""

from collections.abc import Mapping, Sequence
from math import hypot

from fairflac.metrics import Measured
from fairflac.report.groups import GroupTable
from fairflac.report.models import Model
from fairflac.report.results import Result


def certainty(models: Sequence[Model], results: Sequence[Result], groups: Sequence[GroupTable]) -> list[str]:
    """Test images that were drawn, seeds that were not, and groups that are small."""
    key = "unbiased" if any("unbiased" in result.numbers for result in results) else "accuracy"
    seeds = {model.name: [r for r in results if r.row in model.rows] for model in models}
    first = {name: found[0].numbers[key] for name, found in seeds.items() if key in found[0].numbers}
    return [_drawn(first, key), *_gains(models, first), _trained(seeds, key), *_small(groups)]


def gain(better: Measured, base: Measured) -> Measured:
    """The difference of two numbers, as if measured on different images: on the same ones it is a little surer.

    Its interval is made of those of the two (MOVER: Zou and Donner, 2008), which need not be symmetric.
    """
    difference = better.value - base.value
    low = difference - hypot(better.value - better.low, base.high - base.value)
    high = difference + hypot(better.high - better.value, base.value - base.low)
    return Measured(difference, low, high, min(better.n, base.n))


def _drawn(numbers: Mapping[str, Measured], key: str) -> str:
    counted = "every group counted alike" if key == "unbiased" else "every image counted alike"
    ranges = ", ".join(f"{name} {100 * m.low:.1f} to {100 * m.high:.1f} %" for name, m in numbers.items())
    n = " or ".join(dict.fromkeys(f"{m.n:,}" for m in numbers.values()))
    return (
        f"Other test images of the same kind would give other numbers. The share of right answers, {counted}, would "
        f"lie 95 times in 100 within: {ranges} (n = {n} test images)."
    )


def _gains(models: Sequence[Model], numbers: Mapping[str, Measured]) -> list[str]:
    plain = [numbers[model.name] for model in models if model.method == "vanilla" and model.name in numbers]
    if not plain:
        return []
    base = max(plain)  # the strongest, as in the verdict
    words = []
    for name, number in numbers.items():
        if number not in plain:
            m = gain(number, base)
            words.append(f"{name} {100 * m.value:+.1f} points ({100 * m.low:+.1f} to {100 * m.high:+.1f})")
    return [f"Gain over vanilla: {', '.join(words)}."] if words else []


def _trained(seeds: Mapping[str, Sequence[Result]], key: str) -> str:
    several = {name: found for name, found in seeds.items() if len(found) > 1}
    if not several:
        return "Each model was trained once; another seed would give other numbers."
    spans = []
    for name, found in several.items():
        values = [result.numbers[key].value for result in found if key in result.numbers]
        if values:
            spans.append(f"{name} from {100 * min(values):.1f} to {100 * max(values):.1f} % over {len(found)} seeds")
    return f"The ranges are those of the first seed; trained anew: {', '.join(spans)}."


def _small(groups: Sequence[GroupTable]) -> list[str]:
    return [
        f"{'All' if table.small == len(table.groups) else table.small} of the {len(table.groups)} groups of class and "
        f"{table.attribute} have fewer than 30 test images: what is said of one group alone is a hint at most."
        for table in groups
        if table.small
    ]
