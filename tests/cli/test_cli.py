"""The program as a user meets it: what it prints, what it refuses, and with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from fairflac.runs.directory import Run, find_runs
from fairflac.system import checkpoint
from fairflac.system.files import write_text
from program import Answer, Program, refused

TINY = ["--set", "epochs=1", "--set", "channels=[2,2,2,2]", "--set", "kernel_size=3"]
QUICK = [*TINY, "--no-report"]  # of `train`


@pytest.fixture
def fairflac(program: Program) -> Program:
    return program


def test_help_and_version_need_no_torch() -> None:
    script = (
        "import sys\nfrom fairflac.cli import main\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    for words in (["--help"], ["--version"], ["train", "--help"], []):
        answer = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
        assert answer.stderr.strip() == "False", words
        assert "fairflac" in answer.stdout


def test_list(fairflac) -> None:  # type: ignore[no-untyped-def]
    assert "flac-b" in fairflac("list", "methods").out
    datasets = json.loads(fairflac("list", "datasets", "--json").out)
    assert {"biased-mnist", "utkface", "folder", "csv"} < set(datasets)
    assert all(line.endswith(".]") for line in datasets.values())  # each with its licence
    assert "simple-conv" in fairflac("list", "nets").out
    assert "vanilla, gce, flac, flac-b" in fairflac("list", "recipes").out
    refused(fairflac("list", "things"), "things")


def test_doctor(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = json.loads(fairflac("doctor", "--json", "--data", tmp_path, "--runs", tmp_path / "a" / "b").out)
    assert found["torch"].startswith("2.") and "writable" in found["runs folder"]
    assert "data get imagenet-weights" in found["imagenet-weights"]
    assert "data get mnist" in found["mnist"] and found["one step of the demo"].endswith("ms")
    assert found["precision auto means"].startswith(os.environ["FAIRFLAC_PRECISION"].replace("auto", ""))


def test_train_evaluate_and_train_again(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    command = ["train", "biased-digits", "vanilla", "--runs", tmp_path, "--data", tmp_path, *QUICK]
    first = fairflac(*command)
    assert first.code == 0 and "vanilla" in first.out
    (run,) = find_runs(tmp_path)
    files = {"config.toml", "env.json", "metrics.jsonl", "last.pt", "predictions.npz", "result.json", "done"}
    assert files <= {path.name for path in run.path.iterdir()}
    before = run.last.stat().st_mtime_ns
    assert fairflac(*command).out == first.out  # done: shown again, not trained again
    assert run.last.stat().st_mtime_ns == before
    again = json.loads(fairflac("evaluate", run.path, "--data", tmp_path, "--json").out)
    assert again["metrics"]["accuracy"]["value"] == run.result["test"]["accuracy"] and again["n"] == 1000
    assert len(again["groups"]["colour"]) == 100 and again["groups"]["colour"][0]["small"]
    assert "unbiased" in fairflac("evaluate", run.path, "--data", tmp_path, "--split", "train").out
    searched = ["evaluate", run.path, "--data", tmp_path, "--retrieval"]
    assert "Search by features:\n  recall@1" in fairflac(*searched).out
    found = json.loads(fairflac(*searched, "--json").out)
    assert 0 < found["retrieval"]["map"]["value"] < 1 and found["retrieval"]["skew@1:colour"]["n"] == 1000
    assert len(found["skew_by_class"]["colour"]) == 10
    refused(fairflac("evaluate", run.path, "--data", tmp_path, "--split", "validation"), "no validation split")
    on = ["evaluate", run.path, "--data", tmp_path, "--on", "biased-digits"]
    assert json.loads(fairflac(*on, "--json").out)["metrics"] == again["metrics"]
    assert "biased-digits, train split" in fairflac(*on, "--set", "q=0.5", "--split", "train").out
    refused(fairflac(*on[:-1], "imagenet-a"), "imagenet-a")
    refused(fairflac(*on[:-2], "--set", "q=0.5"), "give `on` too")
    write_text(run.path / "result-on-imagenet-a.json", "{}")
    fairflac(*command, "--restart")
    assert run.done and run.last.stat().st_mtime_ns > before
    assert not (run.path / "result-on-imagenet-a.json").exists()  # it was of other weights
    (run.path / "done").unlink()
    for words in (["evaluate", run.path], ["predict", run.path, tmp_path], ["compare", run.path, run.path]):
        refused(fairflac(*words), "is not finished: start its training again")


@pytest.mark.parametrize(
    ("method", "labels"),
    [(["vanilla"], None), (["groupdro"], "class, attribute"), (["ssa", "--set", "label_share=0.25"], "of 25 %")],
)
def test_a_result_names_the_labels_it_took(fairflac, tmp_path: Path, method: list[str], labels: str | None) -> None:  # type: ignore[no-untyped-def]
    answer = fairflac("train", "biased-digits", *method, "--runs", tmp_path, "--data", tmp_path, *QUICK)
    *_, head, row, _ = answer.out.splitlines()  # then comes the run
    assert ("labels" in head) == (labels is not None)
    assert labels is None or labels in row


def test_demo_from_end_to_end(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    answer = fairflac("demo", "--runs", tmp_path, "--data", tmp_path, *TINY)
    assert answer.code == 0, answer.err
    page = (tmp_path / "report.html").read_text()
    assert str(tmp_path / "report.html") in answer.out
    for method in ("vanilla", "flac", "flac-b"):
        assert f"\n{method} " in answer.out
        assert f">{method}<" in page
    assert page.count("<img") >= 2 and "data:image/png;base64" in page
    # vanilla serves as result and as FLAC-B's bias model: four trainings in all
    assert len(find_runs(tmp_path)) == 4
    flac = next(run for run in find_runs(tmp_path) if run.result["method"] == "flac")
    assert set(flac.history[0]) >= {"pairs", "threshold", "spread", "mixed_rows", "singleton_rows"}
    assert "agreement:colour" in flac.result["bias_model_quality"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["biased-mnits", "flac"], ["biased-mnist"]),
        (["biased-mnist", "flca"], ["did you mean 'flac'"]),
        (["biased-digits", "flac", "--set", "alhpa=1"], ["did you mean 'alpha'"]),
        (["biased-digits", "flac", "--set", "alpha"], ["key=value"]),
        (["biased-digits", "flac", "--set", "q=1.2"], ["q = 1.2"]),
        (["biased-digits", "flac", "--set", "q=0"], ["q = 0"]),
        (["biased-digits", "flac", "--set", "alpha=-3"], ["alpha = -3"]),
        (["biased-digits", "flac", "--set", "batch_size=1"], ["batch_size = 1"]),
        (["biased-digits", "flac", "--precision", "fp8"], ["precision"]),
        (["biased-digits", "vanilla", "--set", "selection=accuracy"], ["validation"]),
        (["biased-digits", "vanilla", "--seed", "-1"], ["--seed", "it should be greater than or equal to 0"]),
        (["biased-digits"], ["'method'", "fairflac train --help"]),
        (["biased-digits", "vanilla", "--seed", "99999999999"], ["--seed"]),
        (["biased-digits", "vanilla", "--set", "validation=0.9999"], ["batches of 128", "validation = 0.9999"]),
        (["biased-digits", "vanilla", "--precision", "16-mixed"], ["needs a GPU"]),
        (["biased-digits", "flac", "--set", "bias_model=3"], ["give a run directory"]),
        (["biased-digits", "flac", "--set", "bias_model.seed=x"], ["bias_model.seed"]),
        (["biased-digits", "flac", "--set", "bias_model.dataset=3"], ["unknown dataset '3' of the bias model"]),
        (["biased-digits", "flac", "--set", "net=[1]"], ["unknown net"]),
        (["biased-digits", "flac", "--set", "target=3"], ["target"]),
        (["biased-mnist", "vanilla"], ["fairflac data get mnist"]),
    ],
)
def test_mistakes_cost_one_line(fairflac, tmp_path: Path, words: list[str], parts: list[str]) -> None:  # type: ignore[no-untyped-def]
    refused(fairflac("train", *words, "--runs", tmp_path / "runs", "--data", tmp_path), *parts)


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Two classes of 40 photographs, one of which is broken."""
    for label, red in (("cat", 60), ("it's a <b>dog</b>".replace("/", "_"), 180)):
        (tmp_path / "pets" / label).mkdir(parents=True)
        for i in range(40):
            Image.new("RGB", (40, 30), (red + i, i, 0)).save(tmp_path / "pets" / label / f"photo {i}.jpg")
    (tmp_path / "pets" / "cat" / "photo 7.jpg").write_text("meow")
    return tmp_path / "pets"


def test_own_images_from_end_to_end(fairflac, tmp_path: Path, pets: Path) -> None:  # type: ignore[no-untyped-def]
    seen = fairflac("data", "check", pets, "--data", tmp_path)
    assert seen.code == 0 and "train:" in seen.out and "cat" in seen.out and "'cat/photo 7.jpg'" in seen.out
    refused(fairflac("data", "check", pets, "--data", tmp_path, "--strict"), "photo 7.jpg")
    small = ["--set", "size=16", "--set", "net=simple-conv", *QUICK]
    command = ["train", "folder", "flac-b", "--set", f"path={pets}", "--runs", tmp_path / "runs", "--data", tmp_path]
    answer = fairflac(*command, *small, "--set", "batch_size=32")
    assert answer.code == 0, answer.err
    assert "flac-b" in answer.out
    (run,) = (run for run in find_runs(tmp_path / "runs") if run.config["method"] == "flac-b")
    counts = run.predictions.guess_counts
    assert counts is not None and counts.sum() == run.result["bias_model_quality"]["n"]  # of training images
    seen = fairflac("evaluate", run.path, "--data", tmp_path)
    assert "the attribute is not known" in seen.out and "pseudo-groups: a hint" in seen.out
    known, _, guessed = seen.out.partition("pseudo-groups")
    assert "unbiased" in guessed and "unbiased" not in known
    refused(fairflac(*command, *small, "--strict"), "photo 7.jpg")
    refused(fairflac("data", "check", tmp_path / "nowhere", "--data", tmp_path), "no folder or file")


def test_data_that_is_not_there_or_not_whole(fairflac, tmp_path: Path, mnist_folder: Path) -> None:  # type: ignore[no-untyped-def]
    refused(fairflac("data", "check", "mnist", "--data", tmp_path), "fairflac data get mnist")
    refused(fairflac("data", "get", "minst", "--data", tmp_path), "mnist")
    assert fairflac("data", "get", "mnist", "--data", tmp_path, "--from", mnist_folder).code == 0
    assert "606" in fairflac("data", "check", "biased-mnist", "--data", tmp_path).out
    victim = next((tmp_path / "mnist").glob("train-images*"))
    victim.write_bytes(victim.read_bytes()[:1_000_000])
    refused(fairflac("data", "check", "mnist", "--data", tmp_path), "train-images")
    refused(fairflac("train", "biased-mnist", "vanilla", "--runs", tmp_path, "--data", tmp_path), "train-images")


def test_a_folder_that_cannot_be_written(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "file").write_text("in the way")
    answer = fairflac("train", "biased-digits", "vanilla", "--runs", tmp_path / "file", "--data", tmp_path, *QUICK)
    refused(answer, "file", "choose another folder")


def test_a_damaged_checkpoint_and_a_run_in_use(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    command = ["train", "biased-digits", "vanilla", "--runs", tmp_path, "--data", tmp_path, *QUICK]
    fairflac(*command)
    (run,) = find_runs(tmp_path)
    (run.path / "done").unlink()
    weights = run.last.read_bytes()
    run.last.write_bytes(weights[: len(weights) // 2])
    refused(fairflac(*command), "last.pt", "damaged")
    assert run.last.exists()  # nothing is thrown away on the user's behalf
    checkpoint.save(run.last, {"method": {}})
    refused(fairflac(*command), "does not belong to this run")
    run.last.write_bytes(weights)
    with Run(run.path).locked():
        script = f"import sys; sys.argv = {['fairflac', *map(str, command)]!r}; from fairflac.cli import main; main()"
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        refused(Answer(other.returncode, other.stdout, other.stderr), "in use by process")
    assert fairflac(*command).code == 0


def test_compare(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for seed in (0, 1):
        fairflac("train", "biased-digits", "vanilla", "--seed", seed, "--runs", tmp_path, "--data", tmp_path, *QUICK)
    first, second = (run.path for run in find_runs(tmp_path))
    lines = fairflac("compare", first, second).out.splitlines()
    assert (
        "1000 images" in lines[0]
        and "labels: class" in lines[0]
        and lines[3].startswith("unbiased")
        and lines[6].endswith(".")
    )
    numbers = json.loads(fairflac("compare", first, second, "--json").out)["others"][str(second)]
    assert set(numbers["unbiased"]) == {"first", "second", "difference", "low", "high", "p", "n"}
    refused(fairflac("compare", first), "two run directories")
    refused(fairflac("compare", first, tmp_path), "not a run directory")


def test_evaluate_refuses_what_is_no_run(fairflac, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    refused(fairflac("evaluate", tmp_path, "--data", tmp_path), "not a run directory")
    write_text(tmp_path / "config.toml", "nonsense = 1\n")
    (tmp_path / "done").touch()
    refused(fairflac("evaluate", tmp_path, "--data", tmp_path), "config.toml")
