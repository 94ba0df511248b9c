"""`fairflac audit` as a user meets it."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from torch import Tensor, nn

from fairflac.cli.audit import TABLES
from fairflac.data.own.csv_file import JSON_LINES
from fairflac.data.pixels.rows import ENDINGS
from fairflac.runs.directory import Run
from foreign_models import torchscript
from planted_bars import draw_folder
from program import Program, program, refused
from trained_runs import folder_run, photos, tiny_run

__all__ = ["folder_run", "photos", "program", "tiny_run"]  # fixtures

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
pytestmark = pytest.mark.usefixtures("short_guesses")  # whether the bias model is any good is tested elsewhere


def test_tables_of_predictions_are_all_that_can_be_read() -> None:
    assert set(TABLES) == {".csv", ".tsv", ".txt", *JSON_LINES, *ENDINGS}


def test_text_json_and_page(program: Program, folder_run: Run, photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path / "new")  # elsewhere than where the run was trained: all images are audited
    words = ("audit", folder_run.path, tmp_path / "new", "--data", tmp_path)
    answer = program(*words, "-o", tmp_path / "audit.html")
    assert answer.code == 0, answer.err
    first, *lines = answer.out.splitlines()
    assert first.split(":")[0] in ("leans on a shortcut", "no evidence", "cannot tell")
    assert any("All 72 images" in line and "may have been trained" in line for line in lines)
    assert any(line.startswith("colour ") and line.endswith("72") for line in lines)
    assert "lean, the difference of the two" in answer.out and lines[-1] == f"page: {tmp_path / 'audit.html'}"
    assert "<h1>Does this model lean on a shortcut?</h1>" in (tmp_path / "audit.html").read_text()
    found = json.loads(program(*words, "--json").out)
    assert found["n"] == 72 and found["verdict"] == first.split(":")[0] and found["classes"] == ["above", "below"]
    assert set(found["cues"]["colour"]["difference"]) == {"value", "low", "high", "n"}
    assert found["gaps"] == found["groups"] == {} and found["bias_model"]["trained"].startswith("trained 3 times")


def test_two_models_on_one_page(program: Program, folder_run: Run, photos: Path, tmp_path: Path) -> None:
    """A run is asked about its own test images, and so is the file that was made of it: nothing differs."""
    shutil.copytree(photos, tmp_path / "new")
    words = ("audit", folder_run.path, folder_run.path, tmp_path / "new", "--data", tmp_path)
    answer = program(*words, "--name", "before", "--name", "after", "-o", tmp_path / "audit.html")
    assert answer.code == 0, answer.err
    assert (
        "Between before and after there is no clear difference" in answer.out and "after against before" in answer.out
    )
    page = (tmp_path / "audit.html").read_text()
    assert "<h1>Do these models lean on a shortcut?</h1>" in page and "after against before, image by image" in page
    refused(program(*words, "--name", "before"), "2 models and 1 names")


def test_columns_are_groups(program: Program, folder_run: Run, photos: Path, tmp_path: Path) -> None:
    """Of the colour, which a third of each class has against the others; numbers by hand from the printed groups."""
    shutil.copytree(photos, tmp_path / "new")
    lines = ["path,label,hue"]
    for file in sorted((tmp_path / "new").rglob("*.png")):
        red = (file.parent.name == "above") == (int(file.stem) % 3 > 0)
        lines.append(f"{file.parent.name}/{file.name},{file.parent.name},{'red' if red else 'blue'}")
    (tmp_path / "new" / "all.csv").write_text("\n".join(lines))
    words = ("audit", folder_run.path, tmp_path / "new" / "all.csv", "--data", tmp_path)
    found = json.loads(program(*words, "--json").out)
    rows = found["groups"]["hue"]
    assert sorted(row["n"] for row in rows) == [12, 12, 24, 24]
    aligned, conflicting = (
        sum(row["accuracy"] for row in rows if row["aligned"] is kind) / 2 for kind in (True, False)
    )
    assert found["gaps"]["hue"]["value"] == pytest.approx(aligned - conflicting) and found["gaps"]["hue"]["n"] == 24
    text = program(*words, "--attribute", "hue").out
    assert "class and hue" in text and "above, red" in text and "worst group" in text
    renamed = (tmp_path / "new" / "all.csv").read_text().replace("path,label", "photo,place")
    (tmp_path / "new" / "other.csv").write_text(renamed)
    columns = ("--path-column", "photo", "--label-column", "place")
    again = program("audit", folder_run.path, tmp_path / "new" / "other.csv", "--data", tmp_path, "--json", *columns)
    assert json.loads(again.out)["groups"] == found["groups"], again.err


class ReadsTheGround(nn.Module):
    """Red or blue: it knows nothing of bars."""

    def forward(self, x: Tensor) -> Tensor:
        return 4 * x.mean((2, 3))[:, ::2]


def test_what_discovery_finds(program: Program, tmp_path: Path) -> None:
    """A folder whose classes go with the ground, and a model that reads nothing else."""
    photos, model = draw_folder(tmp_path / "bars", 60, 0.85), torchscript(tmp_path / "model.pt", ReadsTheGround())
    words = ("audit", model, photos, "--size", 36, "--data", tmp_path)
    answer = program(*words, "-o", tmp_path / "audit.html")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("leans on a shortcut: shortcut 1 that discovery found (see its pictures), colour")
    assert "Shortcut 1, found by " in answer.out and "no ImageNet weights here" in answer.err
    page = (tmp_path / "audit.html").read_text()
    assert page.count("Most typical of another value") >= 2 and "http" not in page.replace("http-equiv", "")
    found = json.loads(program(*words, "--json").out)["discovery"]
    assert found["searched"] == "120 audited images" and found["features"] == ["16 x 16 pixels"]
    first = found["shortcuts"][0]
    assert (
        first["believed"]
        and first["strength"] == "lean"
        and first["model"]["model names the wrong guess"]["value"] == 1
    )
    grounds = {kind: {name[-5] for name in names} for kind, names in first["typical"]["lying"].items()}
    assert grounds == {"usual": {"0"}, "other": {"1"}}  # names end with the ground


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["nowhere", "PHOTOS"], ["there is no 'nowhere'"]),
        (["RUN", "nowhere"], ["no folder or file 'nowhere'"]),
        (["RUN", "PHOTOS", "--set", "q=0.9"], ["settings are for datasets"]),
        (["RUN", "PHOTOS", "--split", "best"], ["best"]),
        (["RUN", "PHOTOS", "--net", "resnet18"], ["net resnet18"]),
        (["RUN", "PHOTOS", "--classes", "a,b"], ["leave out classes"]),
        (["RUN", "PHOTOS", "-o", "TMP"], ["is a folder: name the page too"]),
        (["RUN", "biased-digits"], ["16 x 16", "28 x 28"]),
        (["RUN"], ["Missing argument 'DATA'"]),
        ([], ["Missing argument"]),
    ],
)
def test_mistakes_cost_one_line(
    program: Program, words: list[str], parts: list[str], folder_run: Run, photos: Path, tmp_path: Path
) -> None:
    places = {"RUN": folder_run.path, "PHOTOS": photos, "TMP": tmp_path}
    refused(program("audit", *(places.get(word, word) for word in words), "--data", tmp_path / "data"), *parts)


def test_predictions_made_elsewhere(program: Program, tmp_path: Path) -> None:
    """Group numbers by hand: of 80 nurses, right on all men and on half of the women."""
    rows = [f"n{i};nurse;{'nurse' if i < 60 else 'cook'};{'m' if i < 40 else 'f'}" for i in range(80)]
    rows += [f"c{i};cook;cook;{'m' if i % 2 else 'f'}" for i in range(80)]
    (tmp_path / "answers.csv").write_text("\n".join(["who;job;said;sex", *rows]))
    words = ("audit", tmp_path / "answers.csv", "--label-column", "job", "--prediction-column", "said")
    answer = program(*words, "-o", tmp_path / "page.html")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("How often it is right depends on the sex.\nIt is right on 100 % of “nurse” where")
    assert "nurse, f" in answer.out and answer.out.endswith(f"page: {tmp_path / 'page.html'}\n")
    found = json.loads(program(*words, "--json", "--positive", "cook").out)["models"]["said"]["by_attribute"]["sex"]
    assert found["largest_gap"]["value"] == found["fairness"]["fpr_gap"]["value"] == 0.5
    assert found["by_value"]["m"]["selection_rate"]["value"] == 0.5
    refused(program("audit", tmp_path / "answers.csv"), "has no column 'label'", "who, job, said, sex")
    refused(program(*words, "--split", "test"), "--split is for a model and its images")
    refused(program("audit", "model.onnx", "photos", "--positive", "a"), "--positive is for a table of predictions")


def test_other_classes_are_named(program: Program, tiny_run: Run, photos: Path, tmp_path: Path) -> None:
    refused(program("audit", tiny_run.path, photos, "--data", tmp_path), "0, 1, 2, 3, 4 and 5 more", "above, below")


def test_commands_of_the_page_run(
    program: Program, folder_run: Run, tiny_run: Run, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(photos, tmp_path / "photos")
    rows = [f"{f.parent.name}/{f.name},{f.parent.name},{int(f.stem) % 3}" for f in sorted(photos.rglob("*.png"))]
    (tmp_path / "photos" / "photos.csv").write_text("\n".join(["path,label,camera", *rows]))
    predictions = [f"{y},{int(i % 4 == y)},{'fm'[i % 2]}" for i in range(40) for y in (0, 1)]
    (tmp_path / "predictions.csv").write_text("\n".join(["label,prediction,sex", *predictions]))
    assert program("export", folder_run.path, "--to", "torchscript", "-o", "model.pt").code == 0
    commands = re.findall(r"^fairflac audit .*", PAGE, flags=re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        run = tiny_run if "biased-digits" in command else folder_run
        words = [word.replace("RUN", str(run.path)) for word in shlex.split(command)[1:]]
        answer = program(*words, "--data", tmp_path / "data")
        assert answer.code == 0, (words, answer.err)
