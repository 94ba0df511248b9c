"""The report page: one file that needs nothing else, for people who have not read the paper."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fairflac import __version__
from fairflac.errors import UserError
from fairflac.metrics import Measured
from fairflac.metrics.evidence import FEWEST
from fairflac.metrics.groups import majority
from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.reporting.charts import BarChart, class_chart, shortcut_chart
from fairflac.reporting.checks import Alarm, BiasModelQuality, alarms, bias_model_quality
from fairflac.reporting.conclusions import FOUND, GUESS, certainty, harm_sentences
from fairflac.reporting.explorer import Explorer, explorer, grouping
from fairflac.reporting.naming import Names, details_of, known_attribute, name_of, title_of
from fairflac.reporting.pictures import ExampleImages, Picture, Sprite, example_images, pictures
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
from fairflac.reporting.verdict import GuessedModels, ReportVerdict, guessed_models, report_verdict
from fairflac.runs.directory import Run
from fairflac.system.files import write_text

METHODS = {  # in a sentence each, for the methods that need one
    "vanilla": "ordinary training, which does nothing about a shortcut",
    "flac": "a second model, the bias model, tells which images share the shortcut; training then draws images of one "
    "class together and keeps images that share only the shortcut apart",
    "flac-b": "as flac, with an ordinary model of the same data as its bias model: for when nobody has labelled the "
    "shortcut",
    "flac-plus": "as flac, but every batch has images that contradict the shortcut, what is asked of similarities can "
    "be reached, and no weight has to be searched for",
}


@dataclass(frozen=True)
class DatasetSection:
    data: str  # the heading
    details: str  # its options
    dataset: str  # in a sentence
    q: float | None  # share of the training images whose attribute goes with the class, where it was chosen
    shortcut: str | None  # the attribute's name; None when it is not known
    alarms: dict[str, dict[str, Alarm]]  # by headline, then by model
    verdict: ReportVerdict
    chart: BarChart | None  # of the shortcut; None: there are no labels of it, nor groups in their place
    guesses: GuessedModels | None  # that stand in for labels
    guess: str  # what a guess is
    certainty: list[str]
    cost: list[str]
    methods: dict[str, str]
    results: list[RunResult]
    columns: list[ResultColumn]
    classes: list[ClassLine]
    class_chart: BarChart
    harm: list[str]  # on classes that lost
    matrices: dict[str, Matrix]  # per model; none where there are too many classes
    mistakes: dict[str, list[tuple[str, str, int]]]  # the most frequent, in place of a matrix
    majority: str | None  # how right the answer would be that needs no model
    groups: list[GroupTable]
    pictures: list[Picture]
    example_images: ExampleImages | str  # or why there are none
    explorer: Explorer
    left_out: list[str]  # models that were tested on other images, and cannot stand beside the first
    bias_models: list[BiasModelQuality]

    @property
    def sprites(self) -> dict[str, Sprite]:
        """By the CSS selector of what they are the background of."""
        kept = {} if isinstance(self.example_images, str) else {".image": self.example_images.sprite}
        return kept | ({".image.tiny": self.explorer.overview} if self.explorer.overview else {})

    def measured(self, metric: str) -> bool:
        """Has some model that number?"""
        return any(metric in one.numbers for one in self.results)


def dataset_section(runs: Sequence[Run]) -> DatasetSection:
    runs = sorted(runs, key=lambda run: bool(run.config["method"] != "vanilla"))  # the yardstick comes first
    compared, table_rows = models(runs), rows(runs)
    results = [result(row, run.predictions) for row, run in zip(table_rows, runs, strict=True)]
    tables = {model.name: model.run.predictions for model in compared}
    numbers = {model.name: mean_of_seeds([one for one in results if one.row in model.rows]) for model in compared}
    beside = on_the_same_images(tables)
    names = Names.of(runs[0].result)
    groups, lines = group_tables(beside, names), class_lines(beside, names)
    first = next(iter(tables.values()))
    shortcut = known_attribute(first)
    guesses = None if shortcut else guessed_models(compared, beside)
    said = report_verdict(compared, numbers, beside, names, guesses)
    config, counts = runs[0].config, runs[0].result.get("training_images")
    examples = example_images(beside, {model.name: model.run.gallery for model in compared}, names)
    return DatasetSection(
        data=title_of(config),
        details=details_of(config),
        dataset=name_of(config),
        q=q if isinstance(q := config.get("data_options", {}).get("q"), float) else None,
        shortcut=shortcut,
        alarms=_alarms(compared),
        verdict=said,
        chart=_shortcut_chart(numbers, shortcut, guesses, said.notes),
        guesses=guesses,
        guess=FOUND if guesses and guesses.grouped else GUESS,
        certainty=certainty(compared, results, groups),
        cost=cost(compared),
        methods={model.method: METHODS[model.method] for model in compared if model.method in METHODS},
        results=results,
        columns=columns(table_rows),
        classes=lines,
        class_chart=class_chart(lines),
        harm=harm_sentences(compared, beside),
        matrices={name: found for name, table in beside.items() if (found := matrix(table, names))},
        mistakes={name: mistakes(table, names) for name, table in beside.items() if matrix(table, names) is None},
        majority=majority_sentence(majority(first, counts), names) if counts else None,
        groups=groups,
        pictures=pictures({model.name: model.run for model in compared}, shortcut),
        example_images=examples,
        explorer=explorer(beside, names, grouping(first, names, guesses), examples),
        left_out=[name for name in tables if name not in beside],
        bias_models=[one for model in compared for one in bias_model_quality(model.name, model.run, names)],
    )


def _shortcut_chart(
    numbers: Mapping[str, Mapping[str, Measured]],
    shortcut: str | None,
    guesses: GuessedModels | None,
    notes: Mapping[str, str],
) -> BarChart | None:
    """By labels of it; without them by the groups that training went by, where these contradict enough images."""
    if shortcut:
        return shortcut_chart(numbers, shortcut, notes)
    if guesses is None or not guesses.grouped or guesses.against.sum() < FEWEST:
        return None
    shares = {name: {"aligned": one.agree, "conflicting": one.disagree} for name, one in guesses.beside.items()}
    known = {name: {key: value for key, value in of.items() if value} for name, of in shares.items()}
    return shortcut_chart(known, "shortcut", notes)


def _alarms(compared: Sequence[Model]) -> dict[str, dict[str, Alarm]]:
    """What a known shortcut explains is said of the vanilla model alone, where there is one."""
    plain = any(model.method == "vanilla" for model in compared)
    found: dict[str, dict[str, Alarm]] = {}
    for model in compared:
        for alarm in alarms(model.run):
            if model.method == "vanilla" or not (plain and alarm.shortcut):
                found.setdefault(alarm.headline, {})[model.name] = alarm
    return found


ROOM = "fairflac.reporting"
SCRIPTS = ("explorer.js", "page.js")
TITLE = "Does the model lean on a shortcut?"
RANGE = re.compile(r"(\([^()]*), (n = [\d,]+[^()]*\))")


def render(runs: Sequence[Run], title: str = TITLE, foreword: Sequence[str] = ()) -> str:
    """The page as text; a foreword are sentences on which model was kept and why, of which the first says which."""
    sections = [dataset_section(members) for members in by_data(runs).values()]
    if not sections:
        raise UserError("there is nothing to report: none of these runs is a finished model of the classes")
    script = "\n".join((files(ROOM) / "templates" / name).read_text() for name in SCRIPTS)
    template = environment().get_template("page.html")
    return template.render(
        title=title,
        foreword=foreword,
        sections=sections,
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
    made.filters |= {"percent": percent, "span": span, "lighter": _lighter, "capital": _capital}
    return made


def write(runs: Sequence[Run], path: Path, title: str = TITLE, foreword: Sequence[str] = ()) -> None:
    write_text(path, render(runs, title, foreword))


def _lighter(sentence: str) -> Markup:
    """Ranges in brackets stand back, so that a sentence can be read without them."""
    marked = RANGE.sub(r"<small><span>\1,</span> <span>\2</span></small>", str(escape(_unbroken(sentence))))
    return Markup(marked)  # a line may end between range and n only


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _unbroken(value: object) -> object:
    """No line ends between a number and its sign. What is markup already stays as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return value.replace(" %", "\N{NO-BREAK SPACE}%")
    return value
