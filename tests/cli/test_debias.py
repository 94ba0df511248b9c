"""`fairflac debias` as a new user calls it, on small pictures with a planted shortcut."""

import csv
import json
import shutil
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fairflac.auditing.images import ImageSelection, select_images
from fairflac.cli import app
from fairflac.debiasing.budget import BiasModelCost, TimeBudget, TrainingSetup
from fairflac.errors import UserError
from fairflac.inference.open import open_model
from fairflac.runs.directory import Run
from planted_bars import draw_folder
from program import Program

TINY = TrainingSetup("simple-conv", 32, 6, 32, 4, 1.0)


def tiny(
    images: int, side: int, clock: TimeBudget, work: BiasModelCost, asked: dict[str, Any], *, pretrained: bool
) -> TrainingSetup:
    return replace(TINY, epochs=asked.get("epochs", TINY.epochs))


@pytest.fixture(autouse=True)
def tiny_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRFLAC_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("fairflac.debiasing.plan.choose_setup", tiny)


def call(*words: str) -> str:
    result = CliRunner().invoke(app, ["debias", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_folder_becomes_a_model_a_page_and_a_card(tmp_path: Path) -> None:
    draw_folder(tmp_path / "bars", 120, aligned=0.9)
    said = call("bars")
    output = tmp_path / "bars-debiased"
    choice = json.loads((output / "choice.json").read_text())
    assert choice["kept"] in ("vanilla", "flac", "balanced") and choice["reasons"]
    assert choice["reasons"][0] in said and "On test images" in said
    page, card = (output / "report.html").read_text(), (output / "model.md").read_text()
    assert "Does the model lean" in page and card.startswith("---\n")
    predicted = CliRunner().invoke(app, ["predict", str(output / "model.safetensors"), "bars/lying", "--json"])
    assert predicted.exit_code == 0 and "lying" in predicted.output

    assert f"run:    {Run.open(output).path.relative_to(tmp_path)}\n" in said
    assert "fairflac export bars-debiased --to onnx" in said

    done = {path: path.stat().st_mtime_ns for path in output.rglob("done")}
    assert len(done) == 3  # vanilla, flac, balanced
    again = json.loads(call("bars", "--json"))
    assert again["kept"] == choice["kept"]
    assert {path: path.stat().st_mtime_ns for path in output.rglob("done")} == done  # nothing was trained again


def test_other_commands_take_what_is_left(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_folder(tmp_path / "bars", 130, aligned=0.9)
    call("bars", "--set", "epochs=1")
    model = "bars-debiased/model.safetensors"
    for left in ("bars-debiased", model):
        assert program("export", left, "--to", "torchscript").out.startswith("bars-debiased/model.pt")
        assert program("evaluate", left).code == 0
        assert program("predict", left, "bars").code == 0
        page = tmp_path / f"{Path(left).stem}.html"
        assert program("report", left, "-o", page).code == 0 and page.exists()
    vanilla = next((tmp_path / "bars-debiased").rglob("vanilla/*/done")).parent
    assert program("compare", model, vanilla).code == 0
    opened_as = ImageSelection("bars", tmp_path / "data")
    notes = select_images(open_model(model), opened_as).notes
    assert notes[0].endswith("the test split of bars.")  # those that it was not trained on
    monkeypatch.setattr("fairflac.auditing.images.FEWEST", 100)
    notes = select_images(open_model(model), opened_as).notes
    assert "may have been trained on some" in notes[1]  # all: these are too few


def test_a_run_or_its_weights_as_bias_model(tmp_path: Path) -> None:
    draw_folder(tmp_path / "bars", 40, aligned=0.9)
    call("bars", "--json", "--set", "epochs=1")
    (run,) = (path.parent for path in (tmp_path / "bars-debiased").rglob("vanilla/*/done") if _epochs(path.parent) == 1)
    for number, given in enumerate((run, run / "last.pt")):
        output = tmp_path / f"out{number}"
        assert json.loads(call("bars", "--json", "--set", "epochs=1", "--bias-model", str(given), "-o", str(output)))
        (made,) = (Run(path.parent) for path in output.rglob("flac*/*/done"))
        assert made.config["method_options"]["bias_output"] == ("probabilities", "features")[number]


def _epochs(run: Path) -> int:
    return int(Run(run).config["train"]["epochs"])


def test_a_table_with_a_column_for_some_images(tmp_path: Path) -> None:
    folder = draw_folder(tmp_path / "bars", 80, aligned=0.85)
    names = sorted(folder.rglob("*.png"))
    with (folder / "bars.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "label", "ground"])
        for number, name in enumerate(names):
            ground = {"0": "red", "1": "blue"}[name.stem[-1]] if number % 3 == 0 else ""
            writer.writerow([name.relative_to(folder), name.parent.name, ground])
    choice = json.loads(call("bars/bars.csv", "-o", "out", "--attribute", "ground", "--json"))
    assert "the labels of ground in 'bars/bars.csv', which 54 of 160 images have; the others were guessed" in str(
        choice
    )
    runs = {Run(path.parent).config["method"]: Run(path.parent) for path in (tmp_path / "out").rglob("done")}
    assert set(runs) == {"vanilla", "flac", "balanced"} and "bias_model" not in runs["flac"].config
    with Path(runs["flac"].config["data_options"]["groups"]).open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert sum(row["given"] == "yes" for row in table) == 54
    colours = {"red": "0", "blue": "1"}
    assert sum(Path(row["path"]).stem[-1] == colours[row["guess"]] for row in table) > 0.95 * len(table)
    assert runs["flac"].result["attribute_labels"] == pytest.approx(54 / 160)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["red"], "column 'ground' of 'bars/bars.csv' has one value alone, 'red'"),
        (["red", "blue", "rde"], "column 'ground' of 'bars/bars.csv' has the unknown value 'rde', of one image alone"),
        ([], "column 'ground' of 'bars/bars.csv' is empty"),
    ],
)
def test_mistakes_in_a_column_with_gaps_are_one_line(values: list[str], told: str, tmp_path: Path) -> None:
    folder = draw_folder(tmp_path / "bars", 10, aligned=0.9)
    names = sorted(folder.rglob("*.png"))
    labels = [*values[:1] * 4, *values[1:2] * 4, *values[2:]]
    with (folder / "bars.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "label", "ground"])
        for name, label in zip_longest(names, labels, fillvalue=""):
            writer.writerow([Path(name).relative_to(folder), Path(name).parent.name, label])
    with pytest.raises(UserError, match=told):
        call("bars/bars.csv", "-o", "out", "--attribute", "ground")
    assert not list((tmp_path / "out").rglob("runs"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing"], "there is no 'nothing'"),
        (["bars", "--budget", "soon"], "such as 90s"),
        (["bars", "--bias-model", "erly"], "no run directory and no weight file"),
        (["bars", "--attribute", "ground"], "which has no columns"),
        (["bars", "--attribute-from", "bars"], "has no column 'guess', .* name the attribute too"),
        (["bars", "--attribute-from", "gone.csv"], r"there is no 'gone\.csv': give the groups\.csv of discover"),
        (["bars", "--set", "alfa=3"], "did you mean 'alpha'"),
    ],
)
def test_mistakes_are_one_line(words: list[str], told: str, tmp_path: Path) -> None:
    draw_folder(tmp_path / "bars", 10, aligned=0.9)
    with pytest.raises(UserError, match=told):
        call(*words)


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("something is trained")

    monkeypatch.setattr("fairflac.debiasing.pipeline.train_config", refuse)


@pytest.fixture
def told_so_far(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr("fairflac.debiasing.pipeline.tell", told.append)
    return told


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bars", "--bias-model", "evil.pt"], "cannot read weights from 'evil.pt'"),
        (["bars", "--bias-model", "other.pt"], "does not hold the weights of a SimpleConvNet"),
        (["bars", "--bias-model", "unfinished"], "is not finished"),
        (["bars", "--bias-model", "damaged"], "is damaged"),
        (["bars", "--set", "alpha=-3"], "alpha = -3"),
        (["bars", "--set", "validation=0"], "no validation image to choose by"),
        (["bars", "--set", "batch_size=4000"], "hold out a smaller share|take smaller batches"),
        (["bars", "-o", "in-the-way"], "choose another folder"),
        (["bars", "--set", "weights=evil.pt"], "cannot read weights from 'evil.pt'"),
        (["one-class"], "only the class .standing."),
    ],
)
def test_nothing_is_trained_before_everything_is_checked(
    words: list[str], told: str, tmp_path: Path, tiny_run: Run, told_so_far: list[str]
) -> None:
    draw_folder(tmp_path / "bars", 40, aligned=0.9)
    draw_folder(tmp_path / "one-class", 10, aligned=0.9)
    shutil.rmtree(tmp_path / "one-class" / "lying")
    (tmp_path / "evil.pt").write_bytes(b"import os")
    (tmp_path / "in-the-way").touch()
    shutil.copy(tiny_run.last, tmp_path / "other.pt")  # of a network with other channels
    for name in ("unfinished", "damaged"):
        shutil.copytree(tiny_run.path, tmp_path / name)
    (tmp_path / "unfinished" / "done").unlink()
    (tmp_path / "damaged" / "last.pt").write_bytes(b"PK")
    with pytest.raises(UserError, match=told):
        call(*words)
    assert not told_so_far  # no plan either


def test_time_that_runs_short_shortens_what_is_left_and_a_restart_keeps_it(
    tmp_path: Path, told_so_far: list[str]
) -> None:
    draw_folder(tmp_path / "bars", 100, aligned=0.85)
    said = json.loads(call("bars", "--budget", "1s", "--json"))
    assert said["plan"]["epochs_by_model"] == {"vanilla": 4, "flac": 4, "balanced": 4}  # of 6
    assert said["seconds"] > said["budget"] == 1.0
    assert "time is short: vanilla is trained for 4 epochs, 6 were planned" in told_so_far
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "bars-debiased").rglob("done")}
    told = call("bars", "--budget", "1s")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "bars-debiased").rglob("done")} == done
    assert "of 1 s" in told


def test_paths_of_a_table_stay_in_its_folder(tmp_path: Path) -> None:
    draw_folder(tmp_path / "bars", 40, aligned=0.9)
    table = tmp_path / "lists" / "bars.csv"
    table.parent.mkdir()
    lines = [f"../bars/{p.parent.name}/{p.name},{p.parent.name}" for p in (tmp_path / "bars").rglob("*.png")]
    table.write_text("\n".join(["path,label", *lines]) + "\n")
    with pytest.raises(UserError, match="is outside of"):
        call(str(table))
    assert json.loads(call(str(table), "--allow-outside", "--json", "--set", "epochs=1"))["kept"]


def test_a_damaged_plan_is_made_again(tmp_path: Path) -> None:
    draw_folder(tmp_path / "bars", 40, aligned=0.9)
    (tmp_path / "bars-debiased").mkdir()
    (tmp_path / "bars-debiased" / "plan.json").write_text("{")
    assert json.loads(call("bars", "--json", "--set", "epochs=1"))["plan"]["epochs"] == 1


def test_several_seeds_keep_the_model_in_the_middle(tmp_path: Path, told_so_far: list[str]) -> None:
    draw_folder(tmp_path / "bars", 80, aligned=0.85)
    output, one_seed = tmp_path / "bars-debiased", ["bars", "--set", "epochs=1", "--json"]
    call(*one_seed)
    first = {path: path.stat().st_mtime_ns for path in output.rglob("done")}
    words = ["bars", "--seeds", "3", *one_seed[1:]]
    choice = json.loads(call(*words))
    assert len(first) == 3 and first.items() <= {p: p.stat().st_mtime_ns for p in output.rglob("done")}.items()
    seeds = choice["seeds"]
    assert [one["seed"] for one in seeds["each"]] == [0, 1, 2] and sum(seeds["votes"].values()) == 3
    order = sorted(seeds["each"], key=lambda one: one["validation"][choice["kept"]])
    assert seeds["kept"] == order[1]["seed"] and seeds["votes"][choice["kept"]] == max(seeds["votes"].values())
    kept = Run(output / choice["run"])
    assert kept.config["seed"] == seeds["kept"] and kept.config["method"] == choice["kept"]
    for name, found in seeds["test_accuracy"].items():
        values = [one["test_accuracy"][name] for one in seeds["each"]]
        assert found["mean"] == pytest.approx(sum(values) / 3) and found["highest"] == max(values)
    runs = [Run(output / path) for one in seeds["each"] for path in one["runs"].values()]
    assert len({run.path for run in runs}) == 9
    assert all(run.predictions.same_images(runs[0].predictions) for run in runs)  # splits of the first seed
    assert "over 3 seeds" in choice["reasons"][1] and "over 3 seeds" in (output / "report.html").read_text()

    done = {path: path.stat().st_mtime_ns for path in output.rglob("done")}
    (runs[-1].path / "done").unlink()  # as if it had been stopped there
    again = call(*words[:-1])
    assert "Accuracy, mean and standard deviation over 3 seeds: vanilla " in again
    changed = [path for path in output.rglob("done") if path.stat().st_mtime_ns != done[path]]
    assert changed == [runs[-1].path / "done"]
    assert "seed 2, 3 of 3" in told_so_far


def test_seeds_that_there_is_no_time_for_are_left_out_and_that_is_said(tmp_path: Path, told_so_far: list[str]) -> None:
    draw_folder(tmp_path / "bars", 40, aligned=0.85)
    choice = json.loads(call("bars", "--seeds", "3", "--budget", "1s", "--json"))
    assert "time is short: 1 of 3 seeds are trained" in told_so_far
    assert choice["reasons"][1] == "Time was short: 1 of 3 seeds were trained." and "seeds" not in choice


def test_a_parquet_file_goes_the_whole_way(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairflac.auditing.images.FEWEST", 10)
    folder = draw_folder(tmp_path / "bars", 80, aligned=0.85)
    files = sorted(folder.rglob("*.png"))
    content = {
        "photo": [{"bytes": file.read_bytes(), "path": file.name} for file in files],
        "kind": [file.parent.name for file in files],
        "number": list(range(len(files))),
    }
    pq.write_table(pa.table(content), "bars.parquet", row_group_size=50)
    words = ["--label", "kind", "--json", "--set", "epochs=1"]
    assert json.loads(call("bars.parquet", *words))["groups"]["path"]  # a shortcut was found, and trained against
    (flac,) = (Run(path.parent) for path in (tmp_path / "bars-debiased").rglob("flac/*/done"))
    assert flac.config["data_options"]["label_column"] == "kind"
    groups = (tmp_path / "bars-debiased" / "groups.csv").read_text().splitlines()
    assert groups[1].startswith("../bars.parquet#photo:")
    shown = program("predict", "bars-debiased", "bars.parquet", "--csv").out.splitlines()
    of_files = program("predict", "bars-debiased", "bars", "--csv").out.splitlines()
    assert [line.partition(",")[2] for line in shown] == [line.partition(",")[2] for line in of_files]
    audited = select_images(open_model("bars-debiased"), ImageSelection("bars.parquet", tmp_path / "data"))
    assert audited.notes[0].endswith("the test split of bars.parquet.")
    again = call("bars.parquet", *words, "--attribute-from", "bars-debiased/groups.csv", "-o", "named")
    assert "The groups are those of 'bars-debiased/groups.csv'" in again
