"""The model card: what a model is, what it was made from, and for whom it is right. From its run directory alone."""

import inspect
import re

from fairflac import checkpoint
from fairflac.data import DATASETS
from fairflac.export.evidence import bias_model_section, escaped, markdown_table, numbers_section
from fairflac.export.header import header
from fairflac.export.preprocessing import decoding, normalising
from fairflac.export.using import using
from fairflac.method_pages import describe
from fairflac.methods import METHODS
from fairflac.metrics import measure
from fairflac.predictions import Predictions
from fairflac.report.alarms import alarms, sentences
from fairflac.report.caveats import caveats
from fairflac.report.cost import duration
from fairflac.report.labels import labels
from fairflac.report.names import Names
from fairflac.report.provenance import machines, makings
from fairflac.report.trained_on import data_in_words, name_of
from fairflac.runs import Run
from fairflac.trained.facts import Facts
from fairflac.types import TaskSpec


def model_card(run: Run, *, licence: str = "other", file: str | None = None) -> str:
    """In Markdown, with the header that model hubs read; `file` is the exported one that it lies beside."""
    config, table, names = run.config, run.predictions, Names.of(run.result)
    numbers, facts = measure(table), _facts(run)
    method = config["method"]
    sections = {
        "Data": _data(run, table, names),
        "Method": _method(run),
        "Bias model": bias_model_section(run, names),
        "How right it is, and for whom": numbers_section(
            numbers, table, names, method, run.result.get("training_images", [])
        ),
        "Limits": _limits(run),
        "How to use it": using(facts, run, file),
        "What an image goes through": _images(facts, file),
        "How it was made": _making(run),
        "Licence": _licence(config["dataset"], licence),
    }
    what = (
        f"An image classifier of {len(facts.classes)} classes ({_few(facts.classes)}), a `{facts.net}` network trained "
        f"with the method `{method}` on {escaped(name_of(config))}."
    )
    parts = [header(run, numbers, licence), f"# {method} on {escaped(name_of(config))}"]
    parts += [f"> **Mind:** {escaped(words)}" for words in sentences(alarms(run))]
    parts.append(what)
    for title, paragraphs in sections.items():
        parts += [f"## {title}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def _facts(run: Run) -> Facts:
    selected = run.last if run.result.get("selection", "last") == "last" else run.best
    return Facts.of(run, TaskSpec.from_dict(checkpoint.load(selected)["task"]))


def _few(classes: tuple[str, ...]) -> str:
    return escaped(", ".join(classes[:10])) + (", …" if len(classes) > 10 else "")


def _data(run: Run, table: Predictions, names: Names) -> list[str]:
    """Options, and how many images there were, as far as the run has kept it."""
    config = run.config
    trained = (run.result.get("bias_model_quality") or {}).get("n")
    counts = [
        [names.of_class(label), f"{int((table.y == label).sum()):,}"]
        for label in range(max(len(names.classes), int(table.y.max(initial=-1)) + 1))
    ]
    lines = [f"{escaped(data_in_words(config))}. {_heading(config['dataset'], 'Input')}"]
    if (target := _target(run)) != "class":
        lines.append(f"What it predicts is not the class of that set but its {escaped(target)}.")
    lines += [f"Trained on {int(trained):,} images."] if trained else []
    attributes = {name.replace("_", " "): ", ".join(values) for name, values in names.values.items()}
    lines += [escaped(f"Attribute {name}: {values}.") for name, values in attributes.items()]
    return [*lines, f"Tested on {len(table):,} images:", markdown_table(["class", "test images"], counts)]


def _target(run: Run) -> str:
    """What the model predicts: the class, or the attribute that a bias model is there for."""
    return str(run.config.get("target", "class")).replace("_", " ")


def _heading(dataset: str, name: str) -> str:
    """One of the fixed headings of a dataset's docstring; what is indented below it belongs to it."""
    text = inspect.getdoc(DATASETS[dataset]) or ""
    found = re.search(rf"^{name}: (.*(?:\n[ ]+.*)*)", text, flags=re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _method(run: Run) -> list[str]:
    config = run.config
    target = _target(run)
    description = describe(METHODS[config["method"]])
    options = escaped(", ".join(f"{key} = {value}" for key, value in config.get("method_options", {}).items()))
    return [
        f"`{config['method']}`. {description.headline}",
        f"Paper: {description.paper}",
        f"Where we differ: {description.deviations}",
        *([f"Settings: {options}."] if options else []),
        f"Labels that training saw: {labels(run).cell if target == 'class' else escaped(target)}.",
    ]


def _limits(run: Run) -> list[str]:
    """Those of FLAC where it is FLAC; what holds for any model comes last in the list."""
    found = caveats([run])
    own = found if run.config["method"].startswith("flac") else found[-1:]
    said = [f"- {one.text.replace('this report', 'this card')} {one.here}".rstrip() for one in own]
    unlike = "- All numbers are about the test images that are named above. On images of another kind they do not hold."
    return ["\n".join([*said, unlike])]


def _images(facts: Facts, file: str | None) -> list[str]:
    graph = file is not None and not file.endswith(".safetensors")
    steps = decoding(facts) + ([] if graph else normalising(facts))
    height, width = facts.image_size
    inside = (
        f"The file takes what comes out of that, bytes of RGB (N, {height}, {width}, 3), and does the rest itself: "
        f"{normalising(facts)[0]}"
    )
    return ["\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)), *([inside] if graph else [])]


def _making(run: Run) -> list[str]:
    made = makings([run])[0]
    epochs = f"{made.epochs} epoch{'' if made.epochs == '1' else 's'}"
    lines = [
        f"Seed {made.seed}, {epochs}, {duration(made.seconds)} of training without that of a bias model. The state "
        f"that was kept: {made.selection}.",
        f"{machines([run])[0]}; fairflac {run.env.get('fairflac', 'not recorded')}.",
    ]
    if not made.command:
        return lines
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", made.command)), 3)  # a path may hold some
    return [*lines, "To repeat it:", f"{fence}bash\n{made.command}\n{fence}"]


def _licence(dataset: str, licence: str) -> list[str]:
    own = "Of the model: not stated." if licence == "other" else f"Of the model: {licence}."
    return [f"{own} Of the data: {_heading(dataset, 'Licence')}"]
