"""The part of a model card that is measured: how right the model is, for whom, and what its bias model saw."""

import re
from collections.abc import Sequence

from fairflac.metrics import Measured
from fairflac.metrics.classes import majority
from fairflac.metrics.groups import SMALL
from fairflac.metrics.measure import ACCURACIES
from fairflac.predictions import Predictions
from fairflac.report.certainty import DRAWN
from fairflac.report.classes import class_lines, majority_sentence, matrix, mistakes
from fairflac.report.gate import checks
from fairflac.report.groups import Group, GroupTable, group_tables
from fairflac.report.measurements import MISSING
from fairflac.report.names import Names
from fairflac.report.pseudo import pseudo_group_sentences
from fairflac.report.ranges import with_range
from fairflac.report.results import MEANINGS
from fairflac.report.tables import NUMBERS
from fairflac.report.trained_on import data_in_words
from fairflac.runs import Run

MEANT = re.compile(r"[\\`*_\[\]|~$]|&(?=[#\w])")  # by Markdown
MOST_GROUPS = 40  # that a card lists; of more, the worst half as many


def escaped(text: str) -> str:
    """A name, or a sentence with names in it, on one line and without a meaning to Markdown or HTML."""
    return MEANT.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;").replace(">", "&gt;")


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[escaped(cell) for cell in line] for line in (head, *rows)]
    lines = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def numbers_section(
    numbers: dict[str, Measured], table: Predictions, names: Names, method: str, training_images: Sequence[int] = ()
) -> list[str]:
    """Everything that the predictions of the test split say."""
    meanings = {column.title: column.meaning for column in NUMBERS} | {"accuracy": "Share of images named rightly."}
    rows = []
    for name, number in numbers.items():
        kind, _, attribute = name.partition(":")
        title, meaning = MEANINGS.get(kind) or (kind.replace("_", " "), meanings.get(kind.replace("_", " "), ""))
        rows.append([f"{title} ({attribute})" if attribute else title, _shown(kind, number), meaning])
    parts = [DRAWN, markdown_table(["on the test split", "", "what it means"], rows)]
    parts += _classes(table, names, training_images)
    if table.bias:
        return parts + [part for groups in group_tables({method: table}, names) for part in _groups(groups, method)]
    return [*parts, f"{MISSING[0].upper()}{MISSING[1:]}.", *_guessed(table, method)]


def _classes(table: Predictions, names: Names, training_images: Sequence[int]) -> list[str]:
    """Each class, what it is taken for, and the answer that needs no model."""
    lines = [[line.label, with_range(line.accuracy["right"])] for line in class_lines({"right": table}, names)]
    parts = ["Every class:", markdown_table(["class", "named rightly"], lines)]
    if found := matrix(table, names):
        counts = [[label, *map(str, row)] for label, row in zip(found.labels, found.counts, strict=True)]
        parts += ["What each class is taken for (confusion matrix):", markdown_table(["class", *found.labels], counts)]
    elif frequent := mistakes(table, names):
        lines = [[label, said, str(n)] for label, said, n in frequent]
        parts += ["The most frequent mistakes:", markdown_table(["class", "taken for", "images"], lines)]
    if len(training_images):
        parts.append(escaped(majority_sentence(majority(table, training_images), names)))
    return parts


def bias_model_section(run: Run, names: Names) -> list[str]:
    """Which one it was, and whether it saw the attribute and nothing else."""
    stage_one, result = run.config.get("bias_model"), run.result
    if not stage_one:
        return ["None: this method needs none."]
    target = stage_one.get("target", "class").replace("_", " ")
    data, name = escaped(data_in_words(stage_one)), result["bias_model"]
    said = f"`{stage_one['method']}`, which predicts the {escaped(target)}, trained on {data} (run {name})."
    quality = result.get("bias_model_quality") or {}
    rows = [[one.question, one.answer, one.ideal, one.guess] for one in checks(quality, names)]
    if not rows:
        return [said, "Its quality was not measured."]
    return [said, markdown_table(["question", "answer", "ideal", "a guess would give"], rows)]


def _shown(kind: str, number: Measured) -> str:
    if kind in (*ACCURACIES, "p_rule"):
        return with_range(number)
    return f"{number.value:.3f} ({number.low:.3f} to {number.high:.3f}, n = {number.n:,})"


def _groups(table: GroupTable, method: str) -> list[str]:
    total, shown, what = len(table.groups), table.groups, f"class and {escaped(table.attribute)}"
    title = f"Every group of {what}:"
    if total > MOST_GROUPS:
        shown = sorted(table.groups, key=lambda group: group.accuracy[method].value)[: MOST_GROUPS // 2]
        title = f"Of {total} groups of {what}, the {len(shown)} that the model is worst on:"
    head = ["class", table.attribute, "does it go with the class?", "accuracy", "calibration error"]
    parts = [title, markdown_table(head, [_group(one, method) for one in shown])]
    if table.small:
        few = "All" if table.small == total else f"{table.small} of the"
        said = f"{few} {total} groups have fewer than {SMALL} test images: what is said of one alone is a hint at most."
        parts.append(said)
    return parts


def _group(group: Group, method: str) -> list[str]:
    error = group.calibration[method]
    calibration = f"{error.value:.3f} ({error.low:.3f} to {error.high:.3f})"
    return [group.label, group.value, "yes" if group.aligned else "no", with_range(group.accuracy[method]), calibration]


def _guessed(table: Predictions, method: str) -> list[str]:
    """Without labels of the attribute, what the bias model named stands in for it."""
    sentences = pseudo_group_sentences({method: table})
    return [f"A hint, and no evidence: {sentences[0]}"] if sentences else []
