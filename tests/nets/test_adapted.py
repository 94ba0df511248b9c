"""Any module as a network: where its features are, and what is wrong with it."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.nets import adapt
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from toy import TASK, toy_batches, toy_data

SMALL = torch.rand(2, 3, 6, 6)


class Odd(nn.Module):
    """Defines its layers in another order than it uses them, and has one that it does not use."""

    def __init__(self, outputs: int = 2) -> None:
        super().__init__()
        self.head = nn.Linear(7, outputs)
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 5, 1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.hidden = nn.Linear(5, 7)
        self.unused = nn.Linear(7, 3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.conv2(self.bn(self.conv(x)).relu())).flatten(1)
        return self.head(self.dropout(self.hidden(x).tanh()))


def test_features_are_the_input_of_the_linear_that_answers() -> None:
    module = Odd().eval()
    net = adapt(module, 2, example=SMALL).eval()
    output = net(SMALL)
    torch.testing.assert_close(output.logits, module(SMALL))
    torch.testing.assert_close(net.fc(output.features), output.logits)
    assert net.feature_dim == 7 and net.fc.out_features == 2
    assert (net.middle, net.middle_dim) == ("module.conv2", 5)
    seen: list[torch.Size] = []
    net.get_submodule(net.middle).register_forward_hook(lambda *call: seen.append(call[2].shape))
    net(SMALL)
    assert seen[0][1] == net.middle_dim


def test_the_answer_need_not_be_the_last_call() -> None:
    class TwoHeads(Odd):
        def forward(self, x: Tensor) -> Tensor:
            answer = super().forward(x)
            self.unused(torch.zeros(1, 7))
            return answer

    assert adapt(TwoHeads(), 2, example=SMALL).fc.out_features == 2


def test_another_number_of_classes_is_a_new_last_layer_and_the_module_is_left_alone() -> None:
    module = Odd(1000)
    net = adapt(module, 4, example=SMALL)
    assert net(SMALL).logits.shape == (2, 4) and module(SMALL).shape == (2, 1000)
    assert torch.equal(net.get_submodule("module.conv").weight, module.conv.weight)
    kept = adapt(module, 1000, example=SMALL)
    assert torch.equal(kept.fc.weight, module.head.weight)


@pytest.mark.parametrize(("layer", "dim"), [("hidden", 7), ("pool", 5)])
def test_features_by_name(layer: str, dim: int) -> None:
    module = Odd().eval()
    net = adapt(module, 2, layer, example=SMALL).eval()
    expected: list[Tensor] = []
    module.get_submodule(layer).register_forward_hook(lambda *call: expected.append(call[2].flatten(1)))
    module(SMALL)
    torch.testing.assert_close(net(SMALL).features, expected[0])
    assert net.feature_dim == dim


def test_a_network_of_ours_and_a_lone_linear() -> None:
    assert adapt(SimpleConvNet(10, kernel_size=1), 3)(SMALL).logits.shape == (2, 3)
    vectors = torch.rand(4, 6)
    output = adapt(nn.Linear(6, 3), 3, example=vectors)(vectors)
    torch.testing.assert_close(output.features, vectors)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_listens_to_itself(duplicate: Callable[[nn.Module], nn.Module]) -> None:
    net = adapt(Odd(), 2, example=SMALL).eval()
    other = duplicate(net)
    with torch.no_grad():
        other.fc.weight.zero_()
        other.get_submodule("module.hidden").weight.zero_()
    assert not torch.equal(net(SMALL).features, other(SMALL).features)


def test_state_round_trip_and_modes() -> None:
    net, other = adapt(Odd(), 2, example=SMALL).eval(), adapt(Odd(), 2, example=SMALL).eval()
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other(SMALL).logits, net(SMALL).logits)
    assert not torch.equal(net.train()(SMALL).logits, net(SMALL).logits)  # dropout
    assert adapt(Odd().train(), 2, example=SMALL).training


def test_a_try_moves_no_statistics() -> None:
    net = adapt(Odd(), 2, example=SMALL)
    assert net.get_submodule("module.bn").num_batches_tracked == 0


def test_under_autocast() -> None:
    net = adapt(Odd(), 2, example=SMALL)
    with torch.autocast("cpu", torch.bfloat16):
        assert net(SMALL).logits.dtype == torch.bfloat16


@pytest.mark.parametrize("name", ["vanilla", "flac-b", "gce", "lnl"])
def test_methods_train_it(name: str, fabric: Fabric) -> None:
    from fairflac.methods import METHODS
    from fairflac.training.optimise import Optimisation
    from toy import toy_config

    cls, data = METHODS[name], toy_data()
    torch.manual_seed(0)
    method = cls(adapt(Odd(), 2, example=SMALL), TASK)
    before = copy.deepcopy(method.net.state_dict())
    optimisation = Optimisation(method, toy_config(name).train, fabric)
    logs = method.step(toy_batches(method, data, fabric)(torch.arange(32), 0), optimisation)
    assert all(torch.isfinite(value).all() for value in logs.values())
    moved = {key for key, value in method.net.state_dict().items() if not torch.equal(value, before[key])}
    assert {"module.head.weight", "module.conv.weight", "module.hidden.bias"} <= moved
    assert "module.unused.weight" not in moved


@pytest.mark.parametrize(
    ("module", "features", "message"),
    [
        (nn.Sequential(nn.Conv2d(3, 2, 6), nn.Flatten()), None, r"uses no nn\.Linear"),
        (Odd(), "hiden", "has no layer 'hiden'.*head, conv"),
        (Odd(), "unused", "does not use its layer 'unused'"),
        (Odd(), "conv", r"layer 'conv'.*gives features \(2, 4, 4, 4\)"),
        (nn.Sequential(nn.Flatten(2), nn.Linear(36, 2)), None, r"gives \(2, 3, 2\): 2 classes need"),
        (nn.Sequential(Odd(), nn.Softmax(1)), None, "leave out its softmax"),
        (nn.Sequential(nn.Flatten(), nn.Linear(5, 2)), None, r"fails on a batch of shape \(2, 3, 6, 6\)"),
    ],
)
def test_modules_that_do_not_fit(module: nn.Module, features: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        adapt(module, 2, features, example=SMALL)


def test_a_module_without_maps_has_no_middle() -> None:
    net = adapt(nn.Sequential(nn.Flatten(), nn.Linear(108, 2)), 2, example=SMALL)
    assert not hasattr(net, "middle")


def test_images_of_64_pixels_are_what_is_tried() -> None:
    assert adapt(ResNet18(3), 2).fc.out_features == 2
    assert adapt(nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 2)), 2).feature_dim == 12288
