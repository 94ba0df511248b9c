"""The report page: one file that needs nothing else, for people who have not read the paper."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from fairflac.errors import UserError
from fairflac.files import write_text
from fairflac.predictions import Predictions
from fairflac.report.figures import png, sample_grid, similarity_distributions, svg
from fairflac.report.models import Model, by_data, effective_size, models
from fairflac.report.provenance import machines, makings
from fairflac.report.similarity import pair_similarities
from fairflac.report.tables import Column, Row, columns, percent, rows
from fairflac.report.verdict import verdict
from fairflac.runs import Run
from fairflac.samples import Samples

METHODS = {  # in a sentence each, for the methods that need one
    "vanilla": "ordinary training, which does nothing about a shortcut",
    "flac": "a second model, the bias model, tells which images share the attribute; training then draws images of "
    "one class together and keeps images that share only the attribute apart",
    "flac-b": "as flac, with an ordinary model of the same data as its bias model: for when nobody has labelled the "
    "attribute",
}


@dataclass(frozen=True)
class Picture:
    """An image inside the page; `narrow` is its arrangement for small screens."""

    uri: str
    alt: str
    caption: str
    narrow: str | None = None


@dataclass(frozen=True)
class Part:
    """Everything the page says about one dataset."""

    data: str
    dataset: str
    q: float | None  # share of the training images whose attribute goes with the class, where it was chosen
    shortcut: str | None  # the attribute's name; None when it is not known
    verdict: list[str]
    methods: dict[str, str]
    single: bool  # no model was trained with more than one seed
    rows: list[Row]
    columns: list[Column]
    samples: Picture | None
    similarities: Picture | None


def render(runs: list[Run], title: str) -> str:
    """The page as text."""
    parts = [_part(data, members) for data, members in by_data(runs).items()]
    if not parts:
        raise UserError("there is nothing to report: none of these runs is a finished model of the classes")
    environment = Environment(
        loader=PackageLoader("fairflac.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value.replace(" %", "\N{NO-BREAK SPACE}%") if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        title=title,
        parts=parts,
        meanings={column.title: column.meaning for part in parts for column in part.columns},
        makings=makings(runs),
        machines=machines(runs),
    )


def write(runs: list[Run], path: Path, title: str = "Does the model lean on a shortcut?") -> None:
    write_text(path, render(runs, title))


def _part(data: str, runs: list[Run]) -> Part:
    compared, table_rows = models(runs), rows(runs)
    tables = {model.name: model.run.predictions for model in compared}
    first = next(iter(tables.values()))
    kinds = dict.fromkeys(first.repeats.get(name, name) for name in first.bias)
    shortcut = " or ".join(name.replace("_", " ") for name in kinds) or None
    config = runs[0].config
    return Part(
        data=data,
        dataset=config["dataset"],
        q=q if isinstance(q := config.get("data_options", {}).get("q"), float) else None,
        shortcut=shortcut,
        verdict=verdict(compared, shortcut or "attribute", effective_size(first)),
        methods=_methods(compared),
        single=all(model.seeds == 1 for model in compared),
        rows=table_rows,
        columns=columns(table_rows),
        samples=_samples(runs[0], shortcut),
        similarities=_similarities(tables, shortcut),
    )


def _methods(compared: Sequence[Model]) -> dict[str, str]:
    return {model.method: METHODS[model.method] for model in compared if model.method in METHODS}


def _samples(run: Run, shortcut: str | None) -> Picture | None:
    if not run.samples.exists():
        return None
    samples = Samples.load(run.samples)
    alt = f"Rows of training images, one row for each of {len(set(samples.y.tolist()))} classes."
    caption = "A few training images of each class."
    if shortcut and samples.conflicting.any():
        alt += f" The {int(samples.conflicting.sum())} whose {shortcut} does not go with their class are framed."
        caption += (
            f" Framed: the {shortcut} does not go with the class. How many of these are shown says nothing about how "
            "many there are."
        )
    return Picture(_uri("png", png(sample_grid(samples))), alt, caption)


def _similarities(tables: Mapping[str, Predictions], shortcut: str | None) -> Picture | None:
    known = {name: table for name, table in tables.items() if table.bias}
    if not known:
        return None
    alt = (
        f"For {', '.join(known)}: distributions of the similarity of pairs of test images, in red with the same class "
        f"and another {shortcut}, in blue with the same {shortcut} and another class. The caption has the numbers."
    )
    shares = {name: percent(pair_similarities(table).class_first) for name, table in known.items()}
    caption = "How often a red pair is more alike than a blue one (50 % is no preference): "
    caption += ", ".join(f"{name} {share}" for name, share in shares.items()) + "."
    wide, narrow = (_uri("svg+xml", svg(similarity_distributions(known, number))) for number in (3, 1))
    return Picture(wide, alt, caption, narrow)


def _uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{b64encode(content).decode()}"
