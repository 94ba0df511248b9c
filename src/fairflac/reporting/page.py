"""The report page: one file that needs nothing else, for people who have not read the paper."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fairflac import __version__
from fairflac.errors import UserError
from fairflac.metrics.evidence import effective_size
from fairflac.metrics.groups import majority
from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.reporting.checks import BiasModelQuality, alarms, bias_model_quality, sentences
from fairflac.reporting.conclusions import (
    Conclusions,
    certainty,
    conclusions,
    guessed_conclusions,
    harm_sentences,
    pseudo_group_sentences,
)
from fairflac.reporting.naming import Names, details_of, known_attribute, name_of, title_of
from fairflac.reporting.pictures import ExampleImages, Picture, example_images, pictures
from fairflac.reporting.provenance import caveats, cost, machines, provenance
from fairflac.reporting.results import (
    ClassLine,
    GroupTable,
    Matrix,
    Model,
    ResultColumn,
    RunResult,
    by_data,
    class_lines,
    columns,
    further_metrics,
    group_tables,
    majority_sentence,
    matrix,
    mean_of_seeds,
    mistakes,
    models,
    on_the_same_images,
    result,
    rows,
)
from fairflac.reporting.text import span
from fairflac.runs.directory import Run
from fairflac.system.files import write_text

METHODS = {  # in a sentence each, for the methods that need one
    "vanilla": "ordinary training, which does nothing about a shortcut",
    "flac": "a second model, the bias model, tells which images share the attribute; training then draws images of "
    "one class together and keeps images that share only the attribute apart",
    "flac-b": "as flac, with an ordinary model of the same data as its bias model: for when nobody has labelled the "
    "attribute",
}


@dataclass(frozen=True)
class DatasetSection:
    data: str  # the heading
    details: str  # its options
    dataset: str  # in a sentence
    q: float | None  # share of the training images whose attribute goes with the class, where it was chosen
    shortcut: str | None  # the attribute's name; None when it is not known
    alarms: list[str]  # said before everything else
    conclusions: Conclusions
    certainty: list[str]
    cost: list[str]
    methods: dict[str, str]
    results: list[RunResult]
    columns: list[ResultColumn]
    classes: list[ClassLine]
    matrices: dict[str, Matrix]  # per model; none where there are too many classes
    mistakes: dict[str, list[tuple[str, str, int]]]  # the most frequent, in place of a matrix
    majority: str | None  # how right the answer would be that needs no model
    groups: list[GroupTable]
    pictures: list[Picture]
    example_images: ExampleImages | str  # or why there are none
    left_out: list[str]  # models that were tested on other images, and cannot stand beside the first
    bias_models: list[BiasModelQuality]
    pseudo: list[str]  # on pseudo-groups, where no attribute is known


def dataset_section(runs: Sequence[Run]) -> DatasetSection:
    runs = sorted(runs, key=lambda run: bool(run.config["method"] != "vanilla"))  # the yardstick comes first
    compared, table_rows = models(runs), rows(runs)
    results = [result(row, run.predictions) for row, run in zip(table_rows, runs, strict=True)]
    tables = {model.name: model.run.predictions for model in compared}
    numbers = {model.name: mean_of_seeds([one for one in results if one.row in model.rows]) for model in compared}
    beside = on_the_same_images(tables)
    names = Names.of(runs[0].result)
    groups = group_tables(beside, names)
    first = next(iter(tables.values()))
    shortcut = known_attribute(first)
    config, counts = runs[0].config, runs[0].result.get("training_images")
    said = None if shortcut else guessed_conclusions(compared, beside)
    said = said or conclusions(compared, numbers, shortcut or "attribute", effective_size(first))
    return DatasetSection(
        data=title_of(config),
        details=details_of(config),
        dataset=name_of(config),
        q=q if isinstance(q := config.get("data_options", {}).get("q"), float) else None,
        shortcut=shortcut,
        alarms=_alarms(compared),
        conclusions=said._replace(gain=[*said.gain, *harm_sentences(compared, beside)]),
        certainty=certainty(compared, results, groups),
        cost=cost(compared),
        methods={model.method: METHODS[model.method] for model in compared if model.method in METHODS},
        results=results,
        columns=columns(table_rows),
        classes=class_lines(beside, names),
        matrices={name: found for name, table in beside.items() if (found := matrix(table, names))},
        mistakes={name: mistakes(table, names) for name, table in beside.items() if matrix(table, names) is None},
        majority=majority_sentence(majority(first, counts), names) if counts else None,
        groups=groups,
        pictures=pictures({model.name: model.run for model in compared}, shortcut),
        example_images=example_images(beside, {model.name: model.run.gallery for model in compared}, names),
        left_out=[name for name in tables if name not in beside],
        bias_models=[one for model in compared if (one := bias_model_quality(model.name, model.run, names))],
        pseudo=pseudo_group_sentences(tables),
    )


def _alarms(compared: Sequence[Model]) -> list[str]:
    """What a known shortcut explains is said of the vanilla model alone, where there is one."""
    found = [(model, alarm) for model in compared for alarm in alarms(model.run, model.name)]
    plain = any(model.method == "vanilla" for model in compared)
    return sentences(alarm for model, alarm in found if model.method == "vanilla" or not (plain and alarm.shortcut))


ROOM = "fairflac.reporting"
TITLE = "Does the model lean on a shortcut?"
RANGE = re.compile(r"(\([^()]*), (n = [\d,]+[^()]*\))")


def render(runs: Sequence[Run], title: str = TITLE, foreword: Sequence[str] = ()) -> str:
    """The page as text; a foreword are sentences that stand before everything else."""
    sections = [dataset_section(members) for members in by_data(runs).values()]
    if not sections:
        raise UserError("there is nothing to report: none of these runs is a finished model of the classes")
    script = (files(ROOM) / "templates" / "page.js").read_text()
    template = environment().get_template("page.html")
    return template.render(
        title=title,
        foreword=foreword,
        sections=sections,
        meanings={column.title: column.meaning for section in sections for column in section.columns},
        further=further_metrics(),
        provenance=provenance(runs),
        machines=machines(runs),
        unknown=UNKNOWN,
        caveats=caveats(runs),
        version=__version__,
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def environment(package: str = ROOM) -> Environment:
    """For the templates of a package, which may include those of this one."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, ROOM))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "span": span, "lighter": _lighter}
    made.tests |= {
        "same_class": lambda place, thumbnails, query: thumbnails[place].y == query.y,
        "same_value": lambda place, thumbnails, query: thumbnails[place].joint == query.joint,
    }
    return made


def write(runs: Sequence[Run], path: Path, title: str = TITLE, foreword: Sequence[str] = ()) -> None:
    write_text(path, render(runs, title, foreword))


def _lighter(sentence: str) -> Markup:
    """Ranges in brackets stand back, so that a sentence can be read without them."""
    marked = RANGE.sub(r"<small><span>\1,</span> <span>\2</span></small>", str(escape(_unbroken(sentence))))
    return Markup(marked)  # a line may end between range and n only


def _unbroken(value: object) -> object:
    """No line ends between a number and its sign. What is markup already stays as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return value.replace(" %", "\N{NO-BREAK SPACE}%")
    return value
