import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from fairflac.errors import UserError
from fairflac.exporting.formats import FORMATS, Format, as_onnx, export
from fairflac.inference.model import ModelMetadata
from fairflac.inference.open import open_model
from fairflac.methods.base import Method
from fairflac.runs.directory import Run
from fairflac.system.files import write_text


@pytest.mark.parametrize("to", FORMATS)
def test_a_run_in_every_format(tiny_run: Run, tmp_path: Path, to: str) -> None:
    done = export(tiny_run, to, tmp_path / "deep" / f"model{FORMATS[to].endings[-1]}")
    assert done.parity.images == 32 and done.parity.largest_difference <= done.parity.tolerance
    names = {path.name for path in done.file.parent.iterdir()}
    beside = {"model.json"} if to == "safetensors" else set()
    assert names == {done.file.name, "model.md", "model.png"} | beside
    original, exported = open_model(str(tiny_run.path)), open_model(str(done.file))
    images = np.random.default_rng(1).integers(0, 256, (3, 28, 28, 3), dtype=np.uint8)
    assert np.allclose(original(images), exported(images), atol=1e-4)
    assert (exported.classes, exported.fit) == (original.classes, original.fit)


def test_sizes_travel_with_the_file(folder_run: Run, tmp_path: Path) -> None:
    for to, form in FORMATS.items():
        model = open_model(str(export(folder_run, to, tmp_path / f"model{form.endings[0]}").file))
        assert (model.image_size, model.decoded_size) == ((16, 16), (18, 18))
        assert model.classes == ("above", "below")


def test_weights_have_their_preprocessing_beside_them(folder_run: Run, tmp_path: Path) -> None:
    done = export(folder_run, "safetensors", tmp_path / "model.safetensors")
    assert done.preprocessing is not None
    said = json.loads(done.preprocessing.read_text())
    assert said["decoded_size"] == [18, 18] and said["net_options"]["channels"] == [2, 2, 2, 2]
    assert "18 x 18" in said["steps"][1] and "16 x 16" in said["steps"][2] and "0.485" in said["steps"][3]
    with safe_open(done.file, "pt") as file:
        assert {"fc.weight", "fc.bias"} < set(file.keys()) and json.loads(file.metadata()["fairflac"])["net"]


def test_without_a_name_it_lies_in_the_run(tiny_run: Run) -> None:
    done = export(tiny_run, "onnx")
    assert done.file == tiny_run.path / "model.onnx" and done.card == tiny_run.path / "model.md"


def test_a_file_that_answers_otherwise_is_not_kept(
    tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(method: Method, metadata: ModelMetadata) -> bytes:
        with torch.no_grad():
            before = method.net.fc.bias.clone()
            method.net.fc.bias[0] += 0.01
            content = as_onnx(method, metadata)
            method.net.fc.bias.copy_(before)
        return content

    monkeypatch.setitem(FORMATS, "onnx", Format((".onnx",), wrong))
    with pytest.raises(UserError, match="does not answer as"):
        export(tiny_run, "onnx", tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_an_earlier_version_has_no_gallery(tiny_run: Run, tmp_path: Path) -> None:
    kept = tiny_run.gallery.rename(tmp_path / "gallery.npz")
    try:
        assert export(tiny_run, "torchscript", tmp_path / "model.pt").parity.images == 8
    finally:
        kept.rename(tiny_run.gallery)


def refused(match: str, run: Run, to: str, output: Path) -> None:
    with pytest.raises(UserError, match=match):
        export(run, to, output)


def test_what_is_refused(tiny_run: Run, tmp_path: Path) -> None:
    refused("did you mean 'onnx'", tiny_run, "onx", tmp_path / "model.onnx")
    refused("is a folder", tiny_run, "onnx", tmp_path)
    refused("ends in .pt or .ts", tiny_run, "torchscript", tmp_path / "model.onnx")
    write_text(tmp_path / "notes.md", "my own words")
    refused("is in the way", tiny_run, "onnx", tmp_path / "notes.onnx")
    assert (tmp_path / "notes.md").read_text() == "my own words"
    unfinished = Run(tmp_path / "unfinished")
    unfinished.begin("", {})
    refused("is not finished", unfinished, "onnx", tmp_path / "model.onnx")


def test_without_onnx(tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    refused(r'pip install "fairflac\[onnx\]"', tiny_run, "onnx", tmp_path / "model.onnx")
