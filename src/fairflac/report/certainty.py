"""How sure the numbers are, in words."""

from collections.abc import Mapping, Sequence

from fairflac.metrics import Measured
from fairflac.metrics.comparison import CLEAR, Difference, compare
from fairflac.report.groups import GroupTable
from fairflac.report.models import Model
from fairflac.report.results import Result
from fairflac.report.same_images import on_the_same_images

DRAWN = (
    "In brackets: the range within which a number would lie 95 times in 100 with other test images of the same kind, "
    "and n, how many images it is about."
)


def certainty(models: Sequence[Model], results: Sequence[Result], groups: Sequence[GroupTable]) -> list[str]:
    """Test images that were drawn, seeds that were not, and groups that are small."""
    key = "unbiased" if any("unbiased" in result.numbers for result in results) else "accuracy"
    seeds = {model.name: [r for r in results if r.row in model.rows] for model in models}
    first = {name: found[0].numbers[key] for name, found in seeds.items() if key in found[0].numbers}
    return [DRAWN, *_gains(models, first, key), _trained(seeds, key), *_small(groups)]


def _gains(models: Sequence[Model], numbers: Mapping[str, Measured], key: str) -> list[str]:
    """Image by image; a model that was tested on other images has no such number."""
    plain = [model for model in models if model.method == "vanilla" and model.name in numbers]
    if not plain:
        return []
    base = max(plain, key=lambda model: numbers[model.name].value)  # the strongest, as in the verdict
    tables = {base.name: base.run.predictions, **{m.name: m.run.predictions for m in models if m.method != "vanilla"}}
    first, *others = on_the_same_images(tables).items()
    words = [_gain(name, _worst(compare(first[1], table), key)) for name, table in others]
    return [f"Gain over vanilla: {', '.join(words)}."] if words else []


def _worst(found: Mapping[str, Difference], key: str) -> Difference:
    """Of several attributes, the one where the model is worst, as in the tables."""
    return min((one for name, one in found.items() if name.partition(":")[0] == key), key=lambda one: one.second)


def _gain(name: str, one: Difference) -> str:
    luck = "" if one.p < CLEAR else ", which may be luck"
    ends = f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
    return f"{name} {100 * one.difference:+.1f} points ({ends}, n = {one.n:,}{luck})"


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
