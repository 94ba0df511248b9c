from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.nets.resnet import ResNet18
from fairflac.nets.textures import BagNet18


def maps(net: nn.Module, x: Tensor, *names: str) -> list[Tensor]:
    """What the named layers give."""
    found: list[Tensor] = []
    hooks = [net.get_submodule(name).register_forward_hook(lambda *call: found.append(call[2])) for name in names]
    with torch.no_grad():
        net(x)
    for hook in hooks:
        hook.remove()
    return found


def test_maps_have_the_papers_sizes() -> None:
    found = maps(BagNet18(9).eval(), torch.rand(1, 3, 224, 224), "bn1", "layer1", "layer2", "layer3", "layer4")
    assert [tuple(m.shape[1:]) for m in found] == [
        (64, 222, 222), (64, 110, 110), (128, 55, 55), (256, 28, 28), (512, 28, 28),
    ]  # fmt: skip


def test_a_position_sees_five_pixels_a_side() -> None:
    """One pixel is changed at a time, all those between the corners of two neighbouring patches."""
    torch.manual_seed(0)
    net = BagNet18(9).eval().double()
    x = torch.rand(1, 3, 40, 40, dtype=torch.float64)
    places = [(dy, dx) for dy in range(8) for dx in range(8)]
    changed = x.repeat(64, 1, 1, 1)
    for number, (dy, dx) in enumerate(places):
        changed[number, :, 16 + dy, 8 + dx] += 0.5
    (last,) = maps(net, torch.cat([x, changed]), "layer4")
    moved = (last[1:] - last[0]).abs().amax(1) > 1e-6 * last.abs().max()  # (64, positions, positions)
    for number, (dy, dx) in enumerate(places):
        seen = [[2, 1]] if dy < 5 and dx < 5 else []
        assert moved[number].nonzero().tolist() == seen, (dy, dx)


def test_layers_have_the_names_of_the_released_code() -> None:
    net = BagNet18(9)
    state = net.state_dict()
    expected = {
        "conv1.weight": (64, 3, 1, 1),
        "conv2.weight": (64, 64, 3, 3),
        "layer1.0.conv1.weight": (64, 64, 3, 3),
        "layer1.0.downsample.0.weight": (64, 64, 1, 1),
        "layer1.1.conv1.weight": (64, 64, 1, 1),
        "layer4.0.downsample.1.running_var": (512,),
        "layer4.1.conv2.weight": (512, 512, 1, 1),
        "fc.weight": (9, 512),
    }
    assert {name: tuple(state[name].shape) for name in expected} == expected
    assert "layer2.1.downsample.0.weight" not in state
    assert net.bn1.momentum == 0.001 and net.get_submodule("layer1.0.bn1").momentum == 0.1


def test_first_weights_have_the_published_spread() -> None:
    torch.manual_seed(0)
    weight = BagNet18(9).state_dict()["layer4.1.conv2.weight"]
    assert weight.std().item() == pytest.approx((2 / 512) ** 0.5, rel=0.02)


def test_output_and_weights(tmp_path: Path) -> None:
    net = BagNet18(9).eval()
    torch.save(net.state_dict(), tmp_path / "bcc.pth")
    same = BagNet18(9, weights=tmp_path / "bcc.pth").eval()
    x = torch.rand(2, 3, 33, 41)
    output = same(x)
    assert output.features.shape == (2, 512) and torch.equal(net(x).logits, output.logits)
    with pytest.raises(UserError, match="BagNet18") as caught:
        BagNet18(9, weights=_saved(ResNet18(9), tmp_path / "resnet.pth"))
    assert "torchvision" not in str(caught.value)  # which has no such network


def test_resnet_with_a_stem_for_small_images(tmp_path: Path) -> None:
    small, large = ResNet18(10, stem="cifar").eval(), ResNet18(10).eval()
    x = torch.rand(1, 3, 32, 32)
    assert [tuple(m.shape[2:]) for m in maps(small, x, "maxpool", "layer4")] == [(32, 32), (4, 4)]
    assert [tuple(m.shape[2:]) for m in maps(large, x, "maxpool", "layer4")] == [(8, 8), (1, 1)]
    assert small.state_dict()["conv1.weight"].shape == (64, 3, 3, 3)
    assert small.state_dict().keys() == large.state_dict().keys()
    with pytest.raises(UserError, match=r"ResNet18 with these options.*imagenet-weights"):
        ResNet18(10, stem="cifar", weights=_saved(large, tmp_path / "large.pth"))


def test_where_to_get_torchvisions_weights(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no weight file.*fairflac data get imagenet-weights"):
        ResNet18(2, weights=tmp_path / "missing.pth")
    with pytest.raises(UserError, match=r"damaged.*f37072fd"):
        ResNet18(2, weights=_saved(ResNet18(2), tmp_path / "resnet18-f37072fd.pth"))


def _saved(net: nn.Module, path: Path) -> Path:
    torch.save(net.state_dict(), path)
    return path
