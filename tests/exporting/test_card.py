import json
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard
from PIL import Image

from fairflac.errors import UserError
from fairflac.exporting.card import bias_model_section, model_card
from fairflac.exporting.formats import FORMATS, export
from fairflac.exporting.picture import card_picture
from fairflac.inference.open import open_model
from fairflac.inference.predict import answers
from fairflac.metrics import measure
from fairflac.reporting.naming import Names
from fairflac.reporting.page import dataset_section
from fairflac.runs.directory import Run
from fairflac.system import checkpoint
from fairflac.system.tables import escape_markdown
from reporting.hand_made import table, write_run


def header_of(card: str) -> dict[str, object]:
    _, text, _ = card.split("---\n", 2)
    found: dict[str, object] = yaml.safe_load(text)
    return found


def test_the_header_is_what_hubs_read(tiny_run: Run) -> None:
    found = header_of(model_card(tiny_run, licence="apache-2.0"))
    assert found["license"] == "apache-2.0" and found["library_name"] == "fairflac"
    assert found["pipeline_tag"] == "image-classification" and "vanilla" in found["tags"]  # type: ignore[operator]
    (model,) = found["model-index"]  # type: ignore[misc]
    (result,) = model["results"]
    metrics = {one["type"]: one["value"] for one in result["metrics"]}
    assert metrics["unbiased"] == pytest.approx(tiny_run.result["test"]["unbiased"], abs=1e-4)
    assert result["dataset"] == {"name": "biased-digits", "type": "biased-digits", "split": "test"}
    assert found["datasets"] == ["biased-digits"] and found["metrics"] == ["accuracy"]
    assert header_of(model_card(tiny_run))["license"] == "other"


def test_the_hub_reads_it(tiny_run: Run, folder_run: Run, tmp_path: Path) -> None:
    """By the hub's own reader, which fails where a result lacks what the hub wants."""
    done = export(tiny_run, "onnx", tmp_path / "digits.onnx", licence="cc-by-4.0")
    data = ModelCard.load(done.card).data
    assert (data.license, data.library_name, data.pipeline_tag) == ("cc-by-4.0", "fairflac", "image-classification")
    assert data.datasets == ["biased-digits"] and {"onnx", "fairness", "vanilla"} < {*data.tags}
    unbiased = measure(tiny_run.predictions)["unbiased"]
    (found,) = [one for one in data.eval_results if one.metric_type == "unbiased"]
    assert found.metric_value == pytest.approx(unbiased.value, abs=1e-4) and found.dataset_split == "test"
    assert found.metric_args == {"low": round(unbiased.low, 4), "high": round(unbiased.high, 4), "n": unbiased.n}
    own = ModelCard(model_card(folder_run)).data
    assert own.datasets is None and own.eval_results


def test_the_picture_lies_beside_it_and_has_words(tiny_run: Run, folder_run: Run, tmp_path: Path) -> None:
    done = export(tiny_run, "onnx", tmp_path / "my digits.onnx")
    assert "](<my%20digits.png>)" in done.card.read_text() and done.picture == tmp_path / "my digits.png"
    with Image.open(done.picture) as image:
        assert image.format == "PNG" and image.width > 800 and image.info["Software"] == "fairflac"
    table = tiny_run.predictions
    drawing = card_picture(table, Names.of(tiny_run.result))
    right, aligned = table.prediction == table.y, table.aligned["colour"]
    for words, rows in (("the colour goes with", aligned), ("the colour contradicts", ~aligned)):
        assert f"{words} the class: {100 * right[rows].mean():.1f} %" in drawing.alt
    bars = [bar for container in drawing.figure.axes[0].containers for bar in container if hasattr(bar, "get_width")]
    first = right[aligned & (table.y == 0)].mean()
    assert len(bars) == 20 and bars[0].get_width() == pytest.approx(first)
    assert card_picture(folder_run.predictions, Names.of(folder_run.result)).alt.startswith("Bars of 2 classes")
    (tmp_path / "my digits.png").write_bytes(b"a photograph")
    with pytest.raises(UserError, match="in the way"):
        export(tiny_run, "onnx", tmp_path / "my digits.onnx")


@pytest.mark.parametrize("licence", ["no", "1e3", "x: y # z", "- dash", "null", "ü \"q\" 'p'", "a\nb", "{a: [b]}"])
def test_whatever_is_in_the_header_is_yaml(tiny_run: Run, licence: str) -> None:
    assert header_of(model_card(tiny_run, licence=licence))["license"] == licence


def test_a_card_says_what_the_run_knows(tiny_run: Run) -> None:
    card = model_card(tiny_run)
    unbiased = measure(tiny_run.predictions)["unbiased"]
    for part in (
        "Vapnik",  # the paper
        f"| unbiased | {100 * unbiased.value:.1f} % ({100 * unbiased.low:.1f}–{100 * unbiased.high:.1f}, n = 1,000)",
        "Of 100 groups of class and colour, the 20 that the model is worst on",
        "All 100 groups have fewer than 30 test images",
        "| 7 | 100 |",  # test images of a class
        "Labels that training saw: class.",
        "None: this method needs none.",
        "fairflac train --config biased-digits/vanilla/",
        "CC BY-SA 3.0",
        "fairflac predict biased-digits/vanilla/",
        "precision 32-true",
    ):
        assert part in card, part
    assert "FLAC learns from" not in card  # limits of another method


def test_the_question_is_answered_before_the_picture(tiny_run: Run, folder_run: Run) -> None:
    """By the rule of the report."""
    for run in (tiny_run, folder_run):
        said = dataset_section([run]).verdict
        card = model_card(run, picture="it.png")
        answer = f"**Does it lean on a shortcut?** {escape_markdown(said.answer)} "
        assert answer in card and card.index(answer) < card.index("![Bars")


def test_without_attribute_labels_the_guessed_groups_are_a_hint(folder_run: Run) -> None:
    card = model_card(folder_run)
    assert "The attribute is not known" in card and "A hint, and no evidence: flac-b is right on" in card
    assert "FLAC learns from" in card and "How many pairs of a batch does FLAC learn from?" in card
    assert "Sarridis" in card and "18 x 18" in card and "Trained on" in card


@pytest.mark.parametrize(("method", "words"), [("flac", "found by discovery or given"), ("vanilla", "needs none")])
def test_groups_stand_in_for_a_bias_model_where_one_is_needed(tmp_path: Path, method: str, words: str) -> None:
    run = write_run(tmp_path, method, table(0.9, 0.5), data_options={"groups": "groups.csv"})
    (said,) = bias_model_section(run, Names([], {}))
    assert words in said


def test_what_has_to_be_said_first_comes_first(tiny_run: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(tiny_run.path, tmp_path / "run"))
    (run.path / "result.json").write_text(json.dumps(run.result | {"validation": {"accuracy": 1.0, "n": 1000}}))
    card = model_card(run)
    assert (
        card.index("# vanilla on biased-digits") < card.index("> **Warning:** ") < card.index("An image classifier of")
    )


HOSTILE = "a|b `c` *d* _e_ [f](g) <script>alert(1)</script> ~~h~~\n# i"


def test_names_of_classes_mean_nothing_to_markdown(folder_run: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(folder_run.path, tmp_path / "run"))
    content = checkpoint.load(run.last)
    content["task"]["classes"] = [HOSTILE, "b"]
    checkpoint.save(run.last, content)
    result = run.result | {"classes": [HOSTILE, "b"]}
    (run.path / "result.json").write_text(json.dumps(result))
    card = model_card(run)
    assert "Every class:" in card and "confusion matrix" in card and "Always saying" in card
    prose = re.sub(r"(`{3,}).*?\n\1", "", card, flags=re.DOTALL)
    plain = prose.replace(escape_markdown(HOSTILE), "")
    for part in ("<script", "*d*", "`c`", "_e_", "[f](", "# i"):
        assert part not in plain and HOSTILE not in prose, part
    assert "| " + escape_markdown(HOSTILE) + " | " in card
    tables = [line for line in card.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (3, 4, 5) for line in tables)


def test_a_bias_model_says_what_it_predicts(tiny_run: Run, tmp_path: Path) -> None:
    shutil.copytree(tiny_run.path, tmp_path / "bias")
    config = (tmp_path / "bias" / "config.toml").read_text().replace('target = "class"', 'target = "colour"')
    (tmp_path / "bias" / "config.toml").write_text(config)
    card = model_card(Run(tmp_path / "bias"))
    assert "not the class of that set but its colour." in card and "Labels that training saw: colour." in card


@pytest.mark.parametrize("to", ["onnx", "torchscript", "safetensors"])
def test_the_program_on_the_card_runs_and_agrees(
    folder_run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    to: str,
) -> None:
    done = export(folder_run, to, tmp_path / f"model{FORMATS[to].endings[0]}")
    programs = re.findall(r"```python\n(.*?)```", done.card.read_text(), flags=re.DOTALL)
    pixels = np.random.default_rng(3).integers(0, 256, (30, 41, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    monkeypatch.chdir(tmp_path)
    (answer,) = answers(open_model(str(folder_run.path)), [tmp_path / "photo.png"])
    assert len(programs) == (1 if to == "safetensors" else 2) and all(len(one.split("\n")) < 18 for one in programs)
    for program in programs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which users asked for
            exec(compile(program.replace("photo.jpg", "photo.png"), "card", "exec"), {})
        name, probability = capsys.readouterr().out.split()
        assert answer.guesses[0].name == name
        assert answer.guesses[0].probability == pytest.approx(float(probability), abs=1e-4)
