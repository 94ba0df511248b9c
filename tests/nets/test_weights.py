"""Checkpoints as the authors' code and VB-Mitigator write them, with the names of their networks."""

import argparse
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.inference.open import open_model
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.nets.weights import read_state

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)


class TheirConvNet(nn.Module):
    """models/simple_conv.py of both: four times convolution, norm and ReLU in one sequence, then `fc`."""

    def __init__(self, kernel_size: int = 7) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in ((3, 16), (16, 32), (32, 64), (64, 128)):
            conv = nn.Conv2d(inputs, outputs, kernel_size=kernel_size, padding=kernel_size // 2)
            layers += [conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
        self.extracter = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        feat = torch.flatten(self.avgpool(self.extracter(x)), 1)
        return self.fc(feat), feat


class TheirResNet18(nn.Module):
    """models/resnet.py of both: the children of torchvision's network but the last, in one sequence, then `fc`."""

    def __init__(self, num_classes: int = 2) -> None:
        super().__init__()
        net = ResNet18(1000)  # has torchvision's layers
        stem = [net.conv1, net.bn1, nn.ReLU(inplace=True), net.maxpool]
        self.extractor = nn.Sequential(*stem, net.layer1, net.layer2, net.layer3, net.layer4, net.avgpool)
        self.fc = nn.Linear(512, num_classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        feat = self.extractor(x).flatten(1)
        return self.fc(feat), feat


def used(net: nn.Module) -> nn.Module:
    """With statistics of its own in every BatchNorm, so that one that is lost shows."""
    torch.manual_seed(0)
    net.train()(torch.rand(4, 3, 16, 16))
    return net.eval()


def authors(path: Path, net: nn.Module) -> Path:
    """`save_model` of utils/utils.py: the options of argparse are pickled with it."""
    optimizer = torch.optim.Adam(net.parameters())
    opt = argparse.Namespace(exp_name="flac", gpu=0, lr=1e-3, milestones=[6, 13])
    state = {"opt": opt, "model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 20}
    torch.save(state, path)
    return path


def vb_mitigator(path: Path, net: nn.Module) -> Path:
    """`_save_checkpoint` of mitigators/base_trainer.py: no ending, and the best score may be a NumPy number."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [60])
    state = {
        "epoch": 70,
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "best_performance": np.float64(0.9),
        "scheduler": scheduler.state_dict(),
    }
    torch.save(state, path)
    return path


def logits_of(net: nn.Module) -> Any:
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    with torch.no_grad():
        return net((torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 255 - mean) / std)[0].numpy()


@pytest.mark.parametrize("write", [authors, vb_mitigator])
@pytest.mark.parametrize(("name", "net"), [("simple-conv", TheirConvNet), ("resnet18", TheirResNet18)])
def test_their_model_answers_as_theirs(tmp_path: Path, write: Any, name: str, net: type[nn.Module]) -> None:
    theirs = used(net())
    model = open_model(write(tmp_path / "best", theirs), net=name, size=16)
    assert np.allclose(model(IMAGES), logits_of(theirs), atol=1e-4)


def test_from_inside_data_parallel(tmp_path: Path) -> None:
    theirs = used(TheirResNet18())
    authors(tmp_path / "best.pth", nn.DataParallel(theirs))
    model = open_model(tmp_path / "best.pth", net="resnet18", size=16)
    assert np.allclose(model(IMAGES), logits_of(theirs), atol=1e-4)


def test_as_the_start_of_a_training_or_a_bias_model(tmp_path: Path) -> None:
    """`--set weights=FILE` and `--set bias_model.weights=FILE` come here; another number of classes is no obstacle."""
    theirs = used(TheirConvNet(kernel_size=3))
    path = authors(tmp_path / "bcc_biased_mnist.pth", theirs)
    ours = SimpleConvNet(10, kernel_size=3, weights=path).eval()
    x = torch.rand(2, 3, 16, 16)
    with torch.no_grad():
        torch.testing.assert_close(ours(x).features, theirs(x)[1])
        torch.testing.assert_close(ours(x).logits, theirs(x)[0])
    assert SimpleConvNet(4, kernel_size=3, weights=path).fc.weight.shape == (4, 128)
    with pytest.raises(UserError, match="does not hold the weights of a SimpleConvNet"):
        SimpleConvNet(10, kernel_size=7, weights=path)


class Shell:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch owned",)


@pytest.mark.parametrize("thing", [Shell(), pickle.PickleError("a class that nobody listed"), OrderedDict(x=Shell())])
def test_other_objects_are_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thing: object
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"model": TheirResNet18().state_dict(), "opt": thing}, "best.pth")
    with pytest.raises(UserError, match="cannot read weights from 'best"):
        read_state(Path("best.pth"), "ResNet18")
    assert not Path("owned").exists()


def test_what_is_not_a_tensor_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "best.pth"
    torch.save({"opt": argparse.Namespace(run="rm -rf"), "fc.weight": torch.ones(2, 3)}, path)
    state = read_state(path, "network")
    assert torch.equal(state["fc.weight"], torch.ones(2, 3)) and vars(state["opt"]) == {}
