"""The part of a model card that is measured: how right the model is, for whom, and what its bias model saw."""

from collections.abc import Sequence

from fairflac.metrics import Measured
from fairflac.metrics.groups import SMALL
from fairflac.metrics.measure import ACCURACIES
from fairflac.predictions import Predictions
from fairflac.report.certainty import DRAWN
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

MOST_GROUPS = 40  # that a card lists; of more, the worst half as many


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in (head, *rows)]
    lines = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def numbers_section(numbers: dict[str, Measured], table: Predictions, names: Names, method: str) -> list[str]:
    """Everything that the predictions of the test split say."""
    meanings = {column.title: column.meaning for column in NUMBERS} | {"accuracy": "Share of images named rightly."}
    rows = []
    for name, number in numbers.items():
        kind, _, attribute = name.partition(":")
        title, meaning = MEANINGS.get(kind) or (kind.replace("_", " "), meanings.get(kind.replace("_", " "), ""))
        rows.append([f"{title} ({attribute})" if attribute else title, _shown(kind, number), meaning])
    parts = [DRAWN, markdown_table(["on the test split", "", "what it means"], rows)]
    if table.bias:
        return parts + [part for groups in group_tables({method: table}, names) for part in _groups(groups, method)]
    return [*parts, f"{MISSING[0].upper()}{MISSING[1:]}.", *_guessed(table, method)]


def bias_model_section(run: Run, names: Names) -> list[str]:
    """Which one it was, and whether it saw the attribute and nothing else."""
    stage_one, result = run.config.get("bias_model"), run.result
    if not stage_one:
        return ["None: this method needs none."]
    target = stage_one.get("target", "class").replace("_", " ")
    data, name = data_in_words(stage_one), result["bias_model"]
    said = f"`{stage_one['method']}`, which predicts the {target}, trained on {data} (run {name})."
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
    total, shown, what = len(table.groups), table.groups, f"class and {table.attribute}"
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
