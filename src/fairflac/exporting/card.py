"""The model card: what a model is, what it was made from, and for whom it is right. From its run directory alone."""

import inspect
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from urllib.parse import quote

from fairflac.data import DATASETS
from fairflac.data.pixels.decode import DRAFT, Fit
from fairflac.data.pixels.resample import centre_offset
from fairflac.exporting.picture import card_picture
from fairflac.inference.model import ModelMetadata
from fairflac.methods import METHODS
from fairflac.methods.base import describe
from fairflac.metrics import Measured, measure
from fairflac.metrics.evidence import Word, attribute_gaps
from fairflac.metrics.groups import SMALL, majority
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import metric_of
from fairflac.reporting.checks import alarm_lines, alarms, checks
from fairflac.reporting.conclusions import DRAWN, FOUND, GUESS
from fairflac.reporting.figures.style import Drawing
from fairflac.reporting.naming import Names, data_in_words, has_groups, is_result, labels, name_of
from fairflac.reporting.provenance import caveats, machines, provenance
from fairflac.reporting.results import (
    Group,
    GroupTable,
    Model,
    class_lines,
    group_tables,
    majority_sentence,
    matrix,
    mistakes,
    models,
)
from fairflac.reporting.text import MISSING, with_range
from fairflac.reporting.verdict import GuessedModels, guessed_models, report_verdict
from fairflac.runs.directory import Run
from fairflac.system import checkpoint
from fairflac.system.progress import duration
from fairflac.system.tables import escape_markdown, markdown_table
from fairflac.types import TaskSpec


def model_card(run: Run, *, licence: str = "other", file: str | None = None, picture: str | None = None) -> str:
    """In Markdown, with the header that model hubs read.

    `file` is the exported one that it lies beside, `picture` that of `card_picture`.
    """
    config, table, names = run.config, run.predictions, Names.of(run.result)
    numbers, metadata = measure(table), _metadata(run)
    method = config["method"]
    known = models([run] if is_result(run) else [])  # not one that predicts an attribute
    guesses = None if table.bias else guessed_models(known, {model.name: table for model in known})
    sections = {
        "How to use it": using(metadata, run, file),
        "How right it is, and for whom": [
            *numbers_section(numbers, table, names, method, run.result.get("training_images", [])),
            *(_beside(guesses) if guesses else []),
        ],
        "Limits": _limits(run),
        "Data": _data(run, table, names),
        "Method": _method(run),
        "Bias model": bias_model_section(run, names),
        "What an image goes through": _images(metadata, file),
        "How it was made": _provenance(run),
        "Licence": _licence(config["dataset"], licence),
    }
    what = (
        f"An image classifier of {len(metadata.classes)} classes ({_few(metadata.classes)}), a `{metadata.net}` "
        f"network trained with the method `{method}` on {escape_markdown(name_of(config))}. {_in_short(numbers, table)}"
    )
    parts = [header(run, numbers, licence, file), f"# {method} on {escape_markdown(name_of(config))}"]
    parts += [_warning(sentence, numbers) for sentence, *numbers in alarm_lines(alarms(run))]
    parts += [what, *(_verdict(known[0], numbers, table, names, guesses) if known else [])]
    parts += _picture(card_picture(table, names), picture) if picture else []
    for title, paragraphs in sections.items():
        parts += [f"## {title}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def _warning(sentence: str, numbers: list[str]) -> str:
    lines = [f"**Warning:** {escape_markdown(sentence)}", "", *(f"- {escape_markdown(one)}" for one in numbers)]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _in_short(numbers: dict[str, Measured], table: Predictions) -> str:
    """The one number that everybody wants, and the one that a shortcut would hide."""
    said = f"It names {with_range(numbers['accuracy'])} of the test images rightly"
    gaps = attribute_gaps(table)
    if not gaps:
        return f"{said}."
    name = max(gaps, key=lambda one: gaps[one].value)
    against = measure(replace(table, bias={name: table.bias[name]}, repeats={}))["conflicting"]
    shown = escape_markdown(name.replace("_", " "))
    return f"{said}; where the {shown} contradicts the class, groups counting alike, {with_range(against)}."


WARY = "Do not rely on it where that shortcut may not hold."
TO_DO: dict[Word, str] = {
    "leans on a shortcut": WARY,
    "signs of a shortcut": WARY,
    "cannot tell": "Audit it on images like those that it will meet (`fairflac audit`) before you rely on it.",
    "no evidence": "That is no proof of none: audit it on images like those that it will meet (`fairflac audit`).",
}


def _verdict(
    model: Model, numbers: dict[str, Measured], table: Predictions, names: Names, guesses: GuessedModels | None
) -> list[str]:
    """The question that a card is read for, by the rule of the report."""
    said = report_verdict([model], {model.name: numbers}, {model.name: table}, names, guesses)
    return [f"**Does it lean on a shortcut?** {escape_markdown(said.answer)} {TO_DO[said.lean]}"]


def _picture(drawing: Drawing, file: str) -> list[str]:
    alt = escape_markdown(drawing.alt)
    return [f"![{alt}](<{quote(file)}>)", escape_markdown(drawing.caption)]


def _metadata(run: Run) -> ModelMetadata:
    selected = run.last if run.result.get("selection", "last") == "last" else run.best
    return ModelMetadata.of(run, TaskSpec.from_dict(checkpoint.load(selected)["task"]))


def _few(classes: tuple[str, ...]) -> str:
    return escape_markdown(", ".join(classes[:10])) + (", …" if len(classes) > 10 else "")


def _data(run: Run, table: Predictions, names: Names) -> list[str]:
    """Options, and how many images there were, as far as the run has kept it."""
    config = run.config
    trained = (run.result.get("bias_model_quality") or {}).get("n")
    counts = [
        [names.of_class(label), f"{int((table.y == label).sum()):,}"]
        for label in range(max(len(names.classes), int(table.y.max(initial=-1)) + 1))
    ]
    lines = [f"{escape_markdown(data_in_words(config))}. {_heading(config['dataset'], 'Input')}"]
    if (target := _target(run)) != "class":
        lines.append(f"What it predicts is not the class of that set but its {escape_markdown(target)}.")
    lines += [f"Trained on {int(trained):,} images."] if trained else []
    attributes = {name.replace("_", " "): ", ".join(values) for name, values in names.values.items()}
    lines += [escape_markdown(f"Attribute {name}: {values}.") for name, values in attributes.items()]
    return [*lines, f"Tested on {len(table):,} images:", _table(["class", "test images"], counts)]


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
    options = escape_markdown(", ".join(f"{key} = {value}" for key, value in config.get("method_options", {}).items()))
    return [
        f"`{config['method']}`. {description.headline}",
        f"Paper: {description.paper}",
        f"Where we differ: {description.deviations}",
        *([f"Settings: {options}."] if options else []),
        f"Labels that training saw: {labels(run).cell if target == 'class' else escape_markdown(target)}.",
    ]


def _limits(run: Run) -> list[str]:
    """Those of FLAC where it is FLAC; what holds for any model comes last in the list."""
    found = caveats([run])
    own = found if run.config["method"].startswith("flac") else found[-1:]
    said = [f"- {one.text.replace('this report', 'this card')} {one.here}".rstrip() for one in own]
    unlike = "- All numbers are about the test images that are named above. On images of another kind they do not hold."
    return ["\n".join([*said, unlike])]


def _images(metadata: ModelMetadata, file: str | None) -> list[str]:
    graph = file is not None and not file.endswith(".safetensors")
    steps = decoding(metadata) + ([] if graph else normalising(metadata))
    height, width = metadata.image_size
    inside = (
        f"The file takes what comes out of that, bytes of RGB (N, {height}, {width}, 3), and does the rest itself: "
        f"{normalising(metadata)[0]}"
    )
    return ["\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)), *([inside] if graph else [])]


def _provenance(run: Run) -> list[str]:
    made = provenance([run])[0]
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


TAGS = ("fairness", "debiasing", "shortcut-learning")
KINDS = {".onnx": "onnx", ".pt": "torchscript", ".ts": "torchscript", ".safetensors": "safetensors"}  # by ending
OWN = ("folder", "csv")  # data of the user's, which no hub knows


def header(run: Run, numbers: dict[str, Measured], licence: str, file: str | None = None) -> str:
    """YAML as the Hugging Face hub reads it (its "model card metadata"); every number has its interval in `args`."""
    config = run.config
    results = {
        "task": {"type": "image-classification", "name": "Image classification"},
        "dataset": {"name": name_of(config), "type": config["dataset"], "split": "test"},
        "metrics": [_metric(name, number) for name, number in numbers.items()],
    }
    kind = KINDS.get(PurePath(file).suffix) if file else None
    card = {
        "license": licence,
        "library_name": "fairflac",
        "pipeline_tag": "image-classification",
        "tags": ["image-classification", *TAGS, config["method"], *([kind] if kind else [])],
        **({} if config["dataset"] in OWN else {"datasets": [config["dataset"]]}),
        "metrics": ["accuracy"],
        "model-index": [{"name": f"{config['method']} on {name_of(config)}", "results": [results]}],
    }
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in card.items()]  # JSON is YAML
    return "\n".join(["---", *lines, "---"])


def _metric(name: str, number: Measured) -> dict[str, object]:
    value, low, high = (round(one, 4) for one in number[:3])
    kind, _, attribute = name.partition(":")
    title = kind.replace("_", " ") + (f" ({attribute.replace('_', ' ')})" if attribute else "")
    return {"type": kind, "name": title, "value": value, "args": {"low": low, "high": high, "n": number.n}}


MOST_GROUPS = 40  # that a card lists; of more, the worst half as many


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Of cells that may hold any name."""
    first, *rest = ([escape_markdown(cell) for cell in line] for line in (head, *rows))
    return markdown_table(first, rest)


def numbers_section(
    numbers: dict[str, Measured], table: Predictions, names: Names, method: str, training_images: Sequence[int] = ()
) -> list[str]:
    """Everything that the predictions of the test split say."""
    rows = []
    for name, number in numbers.items():
        kind, _, attribute = name.partition(":")
        metric = metric_of(kind)
        title, meaning = (metric.title, metric.meaning) if metric else (kind.replace("_", " "), "")
        rows.append([f"{title} ({attribute})" if attribute else title, _shown(kind, number), meaning])
    parts = [DRAWN, _table(["on the test split", "", "what it means"], rows)]
    parts += _classes(table, names, training_images)
    if table.bias:
        return parts + [part for groups in group_tables({method: table}, names) for part in _groups(groups, method)]
    return [*parts, f"{MISSING[0].upper()}{MISSING[1:]}."]


def _classes(table: Predictions, names: Names, training_images: Sequence[int]) -> list[str]:
    """Each class, what it is taken for, and the answer that needs no model."""
    lines = [[line.label, with_range(line.accuracy["right"])] for line in class_lines({"right": table}, names)]
    parts = ["Every class:", _table(["class", "named rightly"], lines)]
    if found := matrix(table, names):
        counts = [[label, *map(str, row)] for label, row in zip(found.labels, found.counts, strict=True)]
        parts += ["What each class is taken for (confusion matrix):", _table(["class", *found.labels], counts)]
    elif frequent := mistakes(table, names):
        lines = [[label, said, str(n)] for label, said, n in frequent]
        parts += ["The most frequent mistakes:", _table(["class", "taken for", "images"], lines)]
    if len(training_images):
        parts.append(escape_markdown(majority_sentence(majority(table, training_images), names)))
    return parts


def bias_model_section(run: Run, names: Names) -> list[str]:
    """Which one it was, and whether it saw the attribute and nothing else."""
    stage_one, result = run.config.get("bias_model"), run.result
    if has_groups(run.config) and METHODS[run.config["method"]].needs_bias_model:
        return ["None: groups of images, found by discovery or given by a person, stood in for one."]
    if not stage_one:
        return ["None: this method needs none."]
    target = stage_one.get("target", "class").replace("_", " ")
    data, name = escape_markdown(data_in_words(stage_one)), result["bias_model"]
    said = f"`{stage_one['method']}`, which predicts the {escape_markdown(target)}, trained on {data} (run {name})."
    others = zip(run.config.get("other_bias_models", []), result.get("other_bias_models", []), strict=True)
    for stage, kept in others:
        words = escape_markdown(stage.get("target", "class").replace("_", " "))
        said += f" And `{stage['method']}`, which predicts the {words} (run {kept['run']})."
    quality = result.get("bias_model_quality") or {}
    rows = [[one.question, one.answer, one.ideal, one.chance] for one in checks(quality, names)]
    if not rows:
        return [said, "Its quality was not measured."]
    return [said, _table(["question", "answer", "ideal", "by chance"], rows)]


def _shown(kind: str, number: Measured) -> str:
    metric = metric_of(kind)
    if metric and (metric.share or metric.percent):
        return with_range(number)
    return f"{number.value:.3f} ({number.low:.3f} to {number.high:.3f}, n = {number.n:,})"


def _groups(table: GroupTable, method: str) -> list[str]:
    total, shown, what = len(table.groups), table.groups, f"class and {escape_markdown(table.attribute)}"
    title = f"Every group of {what}:"
    if total > MOST_GROUPS:
        shown = sorted(table.groups, key=lambda group: group.accuracy[method].value)[: MOST_GROUPS // 2]
        title = f"Of {total} groups of {what}, the {len(shown)} that the model is worst on:"
    head = ["class", table.attribute, "does it go with the class?", "accuracy", "calibration error"]
    parts = [title, _table(head, [_group(one, method) for one in shown])]
    if table.small:
        few = "All" if table.small == total else f"{table.small} of the"
        said = f"{few} {total} groups have fewer than {SMALL} test images: what is said of one alone is a hint at most."
        parts.append(said)
    return parts


def _group(group: Group, method: str) -> list[str]:
    error = group.calibration[method]
    calibration = f"{error.value:.3f} ({error.low:.3f} to {error.high:.3f})"
    return [group.label, group.value, "yes" if group.aligned else "no", with_range(group.accuracy[method]), calibration]


def _beside(found: GuessedModels) -> list[str]:
    """Without labels of the attribute, what was guessed of the images stands in for it; as in the report."""
    ((name, beside),) = found.beside.items()
    if beside.agree is None or beside.disagree is None:
        return []
    return [
        f"A hint, and no evidence: {name} is right on {with_range(beside.agree)} of the images where the guess is "
        f"right, and on {with_range(beside.disagree)} of the others. {FOUND if found.grouped else GUESS}"
    ]


INPUT, OUTPUTS = "images", ("logits", "probabilities")  # of an exported graph
FITS: dict[Fit, str] = {"cover": "ImageOps.fit(image, {size}, {filter})", "squash": "image.resize({size}, {filter})"}
FILTER = "Image.Resampling.BILINEAR"
# By the ending of the file: what to import, and how pixels become probabilities.
RUNTIMES = {
    ".onnx": (
        "import onnxruntime",
        """session = onnxruntime.InferenceSession({file!r}, providers=["CPUExecutionProvider"])
probabilities = session.run(["{output}"], {{"{input}": pixels}})[0][0]""",
    ),
    ".pt": (
        "import torch",
        """model = torch.jit.load({file!r})
probabilities = model(torch.tensor(pixels))[1][0].numpy()""",
    ),
}
RUNTIMES[".ts"] = RUNTIMES[".pt"]
IN_PYTHON = """import fairflac

for answer in fairflac.predict({model!r}, "photo.jpg"):
    print(answer.guesses[0].name, answer.guesses[0].probability)"""


def using(metadata: ModelMetadata, run: Run, file: str | None) -> list[str]:
    """With this program, and where the file is a whole graph, without it."""
    model = shlex.quote(file or "/".join(run.path.resolve().parts[-3:]))
    lines = [f"fairflac predict {model} photos/", *([] if file else [f"fairflac export {model} --to onnx"])]
    shown = ["```bash\npip install fairflac\n" + "\n".join(lines) + "\n```"]
    shown += ["In Python:", f"```python\n{IN_PYTHON.format(model=file or model)}\n```"]
    runtime = RUNTIMES.get(PurePath(file).suffix) if file else None
    if file and runtime:
        shown += ["Or without it:", f"```python\n{_program(metadata, file, *runtime)}\n```"]
    return shown


def _program(metadata: ModelMetadata, file: str, imports: str, answer: str) -> str:
    """The same as `fairflac predict`, but for images of more than 8 bits a channel."""
    (height, width), (rows, columns) = metadata.image_size, metadata.decoded_size
    top, left = centre_offset(metadata.decoded_size, metadata.image_size)
    fitted = FITS[metadata.fit].format(size=(columns, rows), filter=FILTER)
    return f"""import numpy as np
{imports}
from PIL import Image, ImageOps

classes = {list(metadata.classes)}
file = Image.open("photo.jpg")
file.draft("RGB", {(DRAFT * columns, DRAFT * rows)})
image = ImageOps.exif_transpose(file).convert("RGBA")
image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
image = {fitted}
pixels = np.asarray(image)[None, {top}:{top + height}, {left}:{left + width}]
{answer.format(file=file, input=INPUT, output=OUTPUTS[1])}
print(classes[probabilities.argmax()], probabilities.max())"""


FIT_WORDS: dict[Fit, str] = {
    "cover": "Take the largest part from the centre with the proportions of {size}, and scale it to {size} "
    "(bilinear, with antialiasing).",
    "squash": "Scale to {size} (bilinear, with antialiasing), whatever that does to proportions.",
}


def decoding(metadata: ModelMetadata) -> list[str]:
    """From a file to what an exported graph takes."""
    rows, columns = (DRAFT * side for side in metadata.decoded_size)
    steps = [
        f"Decode to RGB, 8 bits a channel: a large JPEG file at the smallest of 1/8, 1/4 and 1/2 that has {columns} "
        f'columns and {rows} rows (Pillow\'s draft("RGB", ({columns}, {rows}))). Apply the EXIF orientation; what is '
        "transparent becomes white.",
        FIT_WORDS[metadata.fit].format(size=_size(metadata.decoded_size)),
    ]
    if metadata.decoded_size != metadata.image_size:
        steps.append(f"Cut out the middle, {_size(metadata.image_size)}.")
    return steps


def normalising(metadata: ModelMetadata) -> list[str]:
    """From there to what the network takes; an exported graph does it itself."""
    mean, std = (", ".join(f"{value:g}" for value in values) for values in (metadata.mean, metadata.std))
    return [f"Divide by 255, subtract the mean ({mean}), divide by the standard deviation ({std}); channels first."]


def preprocessing_json(metadata: ModelMetadata) -> str:
    """In words, and every number by its name."""
    return (
        json.dumps({"steps": decoding(metadata) + normalising(metadata), **metadata.model_dump(mode="json")}, indent=1)
        + "\n"
    )


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} (height x width)" if size[0] != size[1] else f"{size[0]} x {size[1]}"
