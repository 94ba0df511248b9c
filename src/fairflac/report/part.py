"""Everything the page says about one dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairflac.metrics.classes import majority
from fairflac.report.alarms import alarms, sentences
from fairflac.report.certainty import certainty
from fairflac.report.classes import ClassLine, Matrix, class_lines, majority_sentence, matrix, mistakes
from fairflac.report.cost import cost
from fairflac.report.exhibits import Exhibits, exhibits
from fairflac.report.gate import Check, checks
from fairflac.report.groups import GroupTable, group_tables
from fairflac.report.guessed import guessed_verdict, harm_sentences
from fairflac.report.models import Model, effective_size, models
from fairflac.report.names import Names, known_attribute
from fairflac.report.pictures import Picture, pictures
from fairflac.report.pseudo import pseudo_group_sentences
from fairflac.report.results import Result, mean_of_seeds, result
from fairflac.report.same_images import on_the_same_images
from fairflac.report.tables import Column, columns, rows
from fairflac.report.trained_on import details_of, name_of, title_of
from fairflac.report.verdict import Verdict, verdict
from fairflac.runs import Run

METHODS = {  # in a sentence each, for the methods that need one
    "vanilla": "ordinary training, which does nothing about a shortcut",
    "flac": "a second model, the bias model, tells which images share the attribute; training then draws images of "
    "one class together and keeps images that share only the attribute apart",
    "flac-b": "as flac, with an ordinary model of the same data as its bias model: for when nobody has labelled the "
    "attribute",
}


@dataclass(frozen=True)
class Gate:
    """A model's bias model under test."""

    model: str
    n: int | None  # training images
    checks: list[Check]


@dataclass(frozen=True)
class Part:
    data: str  # the heading
    details: str  # its options
    dataset: str  # in a sentence
    q: float | None  # share of the training images whose attribute goes with the class, where it was chosen
    shortcut: str | None  # the attribute's name; None when it is not known
    alarms: list[str]  # said before everything else
    verdict: Verdict
    certainty: list[str]
    cost: list[str]
    methods: dict[str, str]
    results: list[Result]
    columns: list[Column]
    classes: list[ClassLine]
    matrices: dict[str, Matrix]  # per model; none where there are too many classes
    mistakes: dict[str, list[tuple[str, str, int]]]  # the most frequent, in place of a matrix
    majority: str | None  # how right the answer would be that needs no model
    groups: list[GroupTable]
    pictures: list[Picture]
    exhibits: Exhibits | str  # or why there are none
    left_out: list[str]  # models that were tested on other images, and cannot stand beside the first
    gates: list[Gate]
    pseudo: list[str]  # on pseudo-groups, where no attribute is known


def part(runs: Sequence[Run]) -> Part:
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
    said = None if shortcut else guessed_verdict(compared, beside)
    said = said or verdict(compared, numbers, shortcut or "attribute", effective_size(first))
    return Part(
        data=title_of(config),
        details=details_of(config),
        dataset=name_of(config),
        q=q if isinstance(q := config.get("data_options", {}).get("q"), float) else None,
        shortcut=shortcut,
        alarms=_alarms(compared),
        verdict=said._replace(gain=[*said.gain, *harm_sentences(compared, beside)]),
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
        exhibits=exhibits(beside, {model.name: model.run.gallery for model in compared}, names),
        left_out=[name for name in tables if name not in beside],
        gates=_gates(compared, names),
        pseudo=pseudo_group_sentences(tables),
    )


def _alarms(compared: Sequence[Model]) -> list[str]:
    """What a known shortcut explains is said of the vanilla model alone, where there is one."""
    found = [(model, alarm) for model in compared for alarm in alarms(model.run, model.name)]
    plain = any(model.method == "vanilla" for model in compared)
    return sentences(alarm for model, alarm in found if model.method == "vanilla" or not (plain and alarm.shortcut))


def _gates(compared: Sequence[Model], names: Names) -> list[Gate]:
    found = []
    for model in compared:
        quality = model.run.result.get("bias_model_quality") or {}
        if model.run.result.get("bias_model"):
            n = quality.get("n")
            found.append(Gate(model.name, None if n is None else int(n), checks(quality, names)))
    return found
