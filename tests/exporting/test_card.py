import json
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from fairflac.exporting.card import model_card
from fairflac.exporting.formats import export
from fairflac.inference.open import open_model
from fairflac.inference.predict import answers
from fairflac.metrics import measure
from fairflac.runs.directory import Run
from fairflac.system import checkpoint
from fairflac.system.tables import escape_markdown


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
    assert header_of(model_card(tiny_run))["license"] == "other"


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


def test_without_attribute_labels_the_guessed_groups_are_a_hint(folder_run: Run) -> None:
    card = model_card(folder_run)
    assert "The attribute is not known" in card and "A hint, and no evidence: flac-b is right on" in card
    assert "FLAC learns from" in card and "How many pairs of a batch does FLAC learn from?" in card
    assert "Sarridis" in card and "18 x 18" in card and "Trained on" in card


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


@pytest.mark.parametrize("to", ["onnx", "torchscript"])
def test_the_program_on_the_card_runs_and_agrees(
    folder_run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    to: str,
) -> None:
    done = export(folder_run, to, tmp_path / f"model.{'onnx' if to == 'onnx' else 'pt'}")
    (program,) = re.findall(r"```python\n(.*?)```", done.card.read_text(), flags=re.DOTALL)
    pixels = np.random.default_rng(3).integers(0, 256, (30, 41, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which users asked for
        exec(compile(program.replace("photo.jpg", "photo.png"), "card", "exec"), {})
    name, probability = capsys.readouterr().out.split()
    (answer,) = answers(open_model(str(folder_run.path)), [tmp_path / "photo.png"])
    assert answer.guesses[0].name == name
    assert answer.guesses[0].probability == pytest.approx(float(probability), abs=1e-4)
