import json
from pathlib import Path

import pytest

from fairflac.runs.directory import Run
from program import Program, refused


def test_export_and_predict_with_the_file(program: Program, folder_run: Run, photos: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    said = json.loads(program("export", folder_run.path, "--to", "onnx", "-o", file, "--json").out)
    assert said["file"] == str(file) and said["bytes"] == file.stat().st_size
    assert said["parity"]["largest_difference"] <= said["parity"]["tolerance"]
    by_run, by_file = (program("predict", model, photos / "above", "--csv").out for model in (folder_run.path, file))
    for one, other in zip(by_run.splitlines()[1:], by_file.splitlines()[1:], strict=True):
        assert one.rpartition(",")[0] == other.rpartition(",")[0]
        assert float(one.rpartition(",")[2]) == pytest.approx(float(other.rpartition(",")[2]), abs=1e-4)


def test_in_words(program: Program, folder_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    answer = program("export", folder_run.path, "--to", "safetensors", "-o", file, "--licence", "cc-by-4.0")
    assert answer.code == 0, answer.err
    for part in (str(file), "answers as the run does: ", str(tmp_path / "model.json"), str(tmp_path / "model.md")):
        assert part in answer.out
    assert '\nlicense: "cc-by-4.0"\n' in (tmp_path / "model.md").read_text()


def test_mistakes(program: Program, folder_run: Run, tmp_path: Path) -> None:
    refused(program("export", folder_run.path), "--to")
    refused(program("export", folder_run.path, "--to", "torchscrip"), "did you mean 'torchscript'?")
    refused(program("export", tmp_path, "--to", "onnx"), "not a run directory")
