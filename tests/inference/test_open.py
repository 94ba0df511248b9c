import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from onnx import TensorProto
from safetensors.torch import save_file

import foreign_models as foreign
from fairflac.errors import UserError
from fairflac.inference.model import predictions
from fairflac.inference.open import kind_of, open_model
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.runs.directory import Run
from fairflac.training.build import load_config, load_method, load_split
from fairflac.training.evaluate import infer

NET = "simple-conv kernel_size=3 channels=[2,3,4,5]"


def small_net() -> SimpleConvNet:
    torch.manual_seed(0)
    return SimpleConvNet(4, kernel_size=3, channels=(2, 3, 4, 5)).eval()


def logits_of(net: torch.nn.Module) -> np.ndarray:
    x = torch.from_numpy(((foreign.IMAGES / 255 - foreign.MEAN) / foreign.STD).transpose(0, 3, 1, 2)).float()
    with torch.no_grad():
        answer: np.ndarray = net(x).logits.numpy()
    return answer


def test_a_run_predicts_what_it_predicted_when_it_was_trained(tiny_run: Run, fabric: Fabric) -> None:
    model = open_model(str(tiny_run.path))
    assert model.classes == tuple("0123456789") and model.image_size == model.decoded_size == (28, 28)
    data = load_split(load_config(tiny_run), tiny_run.path, "test")
    assert data is not None
    table = predictions(model, data, silent=True)
    assert np.array_equal(table.prediction, tiny_run.predictions.prediction)
    logits, _ = infer(load_method(tiny_run), data, fabric, torch.arange(7))
    assert np.allclose(model(data.images[:7]), logits.numpy(), atol=1e-5)


@pytest.mark.parametrize("shape", [("n", 3, 8, 8), (2, 3, 8, 8), (1, 3, 8, 8), ("n", 3, "h", "w"), ("n", "c", 8, 8)])
def test_a_foreign_onnx_file(tmp_path: Path, shape: tuple[int | str, ...]) -> None:
    path = foreign.onnx_file(tmp_path / "model.onnx", shape)
    model = open_model(str(path), size=8 if "h" in shape else None, classes=foreign.CLASSES)
    assert model.image_size == (8, 8) and model.classes == foreign.CLASSES
    assert np.allclose(model(foreign.IMAGES), foreign.expected(), atol=1e-5)


def test_a_foreign_onnx_file_of_oblong_images(tmp_path: Path) -> None:
    model = open_model(str(foreign.onnx_file(tmp_path / "model.onnx", ("n", 3, 6, 4))))
    assert model.image_size == model.decoded_size == (6, 4)
    assert np.allclose(model(foreign.IMAGES), foreign.expected(foreign.IMAGES[:, 1:7, 2:6]), atol=1e-5)


@pytest.mark.parametrize("name", ["model.pt", "model.ts", "model.pth", "model"])
def test_a_foreign_torchscript_file_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = foreign.torchscript(tmp_path / name)
    assert kind_of(path) == "torchscript"
    model = open_model(str(path), size=8)
    assert model.classes is None
    assert np.allclose(model(foreign.IMAGES), foreign.expected(), atol=1e-5)


def test_the_middle_of_larger_images_is_seen(tmp_path: Path) -> None:
    large = np.pad(foreign.IMAGES, ((0, 0), (2, 3), (1, 1), (0, 0)))
    large.flags.writeable = False  # as a memory map may be
    model = open_model(str(foreign.torchscript(tmp_path / "model.pt")), size=8)
    assert np.allclose(model(large), foreign.expected(), atol=1e-5)


def test_weights_alone_in_every_wrapping(tmp_path: Path) -> None:
    net = small_net()
    state = net.state_dict()
    torch.save(state, tmp_path / "plain.pt")
    torch.save(state, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in state.items()}}, tmp_path / "wrapped.pth")
    save_file(state, tmp_path / "plain.safetensors")
    for path in sorted(tmp_path.iterdir()):
        model = open_model(str(path), net=NET, size=8)
        assert np.allclose(model(foreign.IMAGES), logits_of(net), atol=1e-5), path


def test_weights_of_a_network_with_its_own_number_of_classes(tmp_path: Path) -> None:
    torch.save(ResNet18(7, stem="cifar").state_dict(), tmp_path / "net.pth")
    model = open_model(str(tmp_path / "net.pth"), net="resnet18 stem=cifar", size=16)
    assert model(np.zeros((1, 16, 16, 3), np.uint8)).shape == (1, 7)
    with pytest.raises(UserError, match="7 classes apart, and 2 are named"):
        open_model(str(tmp_path / "net.pth"), net="resnet18 stem=cifar", size=16, classes=("a", "b"))
    with pytest.raises(UserError, match="does not hold the weights of a ResNet18"):
        open_model(str(tmp_path / "net.pth"), net="resnet18", size=16)


@pytest.mark.parametrize("returns", ["logits", "(logits, 1)", "{'logits': logits}", "Output(logits, x)"])
def test_a_factory_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, returns: str) -> None:
    name = f"mine_{abs(hash(returns))}"
    (tmp_path / f"{name}.py").write_text(
        "import torch\nfrom foreign_models import MeanColour\nfrom fairflac.types import Output\n"
        "class Model(MeanColour):\n    def forward(self, x):\n"
        f"        logits = super().forward(x)\n        return {returns}\n"
    )
    monkeypatch.chdir(tmp_path)
    model = open_model(f"{name}:Model", size=8, classes=foreign.CLASSES)
    assert np.allclose(model(foreign.IMAGES), foreign.expected(), atol=1e-5)


def refused(match: str, name: object, **given: object) -> None:
    with pytest.raises(UserError, match=match) as refusal:
        open_model(str(name), **given)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)


def test_files_that_are_no_model(tmp_path: Path) -> None:
    refused("there is no 'nothing.onnx'", "nothing.onnx")
    refused("not a run directory", tmp_path)
    for name in ("text.pt", "text.onnx", "text.safetensors", "text"):
        (tmp_path / name).write_text("not a model at all")
    refused("name it with net, for example resnet18", tmp_path / "text.pt")
    refused("cannot read weights", tmp_path / "text.pt", net="resnet18", size=8)
    refused("onnxruntime cannot open", tmp_path / "text.onnx")
    refused("no safetensors file, or a damaged one", tmp_path / "text.safetensors")
    whole = foreign.torchscript(tmp_path / "whole.pt").read_bytes()
    (tmp_path / "half.pt").write_bytes(whole[: len(whole) // 2])
    refused("name it with net", tmp_path / "half.pt", size=8)
    torch.save(foreign.MeanColour(), tmp_path / "pickled.pt")  # Python objects: never unpickled
    refused("it must be a state dict", tmp_path / "pickled.pt", net="resnet18", size=8)
    (tmp_path / "plain.pt").write_bytes(pickle.dumps({"weight": 1}))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        refused("it must be a state dict", tmp_path / "plain.pt", net="resnet18", size=8)
    assert not told  # torch warns of such a file


def test_what_the_user_says_must_agree_with_the_file(tmp_path: Path, tiny_run: Run) -> None:
    run, script = tiny_run.path, foreign.torchscript(tmp_path / "model.pt")
    refused("takes images of 28 x 28", run, size=32)
    refused("has classes of its own", run, classes=tuple("abcdefghij"))
    assert open_model(str(run), size=28, classes=tuple("0123456789")).classes == tuple("0123456789")
    refused("net resnet18 is for files of weights", run, net="resnet18")
    refused("does not say how large", script)
    refused("not a size", script, size=-3)
    refused("net resnet18 is for files of weights", script, net="resnet18", size=8)
    refused("takes images of 8 x 8", foreign.onnx_file(tmp_path / "model.onnx"), size=9)
    refused("4 classes apart, and 2 are named", script, size=8, classes=("yes", "no"))


def test_graphs_that_do_not_classify_images(tmp_path: Path) -> None:
    grey = foreign.onnx_file(tmp_path / "grey.onnx", ("n", 1, 8, 8))
    refused(r"does not take one batch of images.* \['n', 1, 8, 8\]", grey)
    refused("does not take one batch", foreign.onnx_file(tmp_path / "double.onnx", kind=TensorProto.DOUBLE))
    pixels = foreign.torchscript(tmp_path / "pixels.pt", torch.nn.Identity())
    refused("returns numbers of shape", pixels, size=8)
    one = foreign.torchscript(tmp_path / "one.pt", torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 1)))
    refused("returns numbers of shape", one, size=8)
    refused("cannot classify images of 9 x 9", one, size=9)


def test_a_function_shows_what_its_last_linear_sees() -> None:
    model = open_model("foreign_models:MeanColour", size=8)
    assert np.allclose(model(foreign.IMAGES), foreign.expected(), atol=1e-5)
    colours = ((foreign.IMAGES / 255 - foreign.MEAN) / foreign.STD).mean((1, 2))
    assert model.features is not None and np.allclose(model.features(foreign.IMAGES), colours, atol=1e-5)
    headless = open_model("foreign_models:Colours", size=8)
    assert headless.features is None and np.allclose(headless(foreign.IMAGES), colours, atol=1e-5)


def test_nets_and_factories_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save(small_net().state_dict(), tmp_path / "net.pt")
    refused("did you mean 'resnet18'", tmp_path / "net.pt", net="resnet", size=8)
    refused("options are KEY=VALUE", tmp_path / "net.pt", net="resnet18 cifar", size=8)
    refused("kernel_size = 0 is not valid", tmp_path / "net.pt", net="simple-conv kernel_size=0", size=8)
    (tmp_path / "broken_module.py").write_text("import nowhere_at_all\n")
    (tmp_path / "odd_module.py").write_text("def number():\n    return 3\n\ndef failing():\n    raise OSError('no')\n")
    monkeypatch.chdir(tmp_path)
    refused("no module 'absent_module'", "absent_module:model", size=8)
    refused("needs 'nowhere_at_all'", "broken_module:model", size=8)
    refused("no function 'model'", "odd_module:model", size=8)
    refused("returned int", "odd_module:number", size=8)
    refused("failed with OSError: no", "odd_module:failing", size=8)


def test_without_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    refused(r'pip install "fairflac\[onnx\]"', foreign.onnx_file(tmp_path / "model.onnx"))
