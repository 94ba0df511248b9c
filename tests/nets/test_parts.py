"""A batch in parts against the whole batch, and against two passes written out."""

import weakref

import pytest
import torch
from torch import Tensor, nn

from fairflac.losses import FLACLoss
from fairflac.nets.parts import in_parts
from fairflac.types import Network, Output


class Net(Network):
    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        self.first, self.second, self.fc = nn.Linear(6, 7), nn.Linear(7, 5), nn.Linear(5, 3)
        self.norm = nn.BatchNorm1d(7) if norm else nn.Identity()
        self.hidden: list[weakref.ref[Tensor]] = []  # what a gradient needs

    def forward(self, x: Tensor) -> Output:
        hidden = self.norm(self.first(x)).tanh()
        self.hidden.append(weakref.ref(hidden))
        features = self.second(hidden).relu()
        return Output(self.fc(features), features)


def setting(norm: bool = False) -> tuple[Net, Tensor]:
    torch.manual_seed(0)
    return Net(norm).double(), torch.randn(32, 6, dtype=torch.float64)


def loss_of(output: Output) -> Tensor:
    y = torch.arange(32) % 3
    bias_features = torch.eye(3, dtype=torch.float64)[torch.arange(32) // 2 % 3]
    ce = nn.functional.cross_entropy(output.logits, y)
    return ce + 10 * FLACLoss()(bias_features, output.features, y)


def gradients(net: Net, loss: Tensor) -> list[Tensor]:
    parameters = list(net.parameters())
    loss.backward(inputs=parameters)  # as the engine does
    return [p.grad for p in parameters if p.grad is not None]


@pytest.mark.parametrize("size", [2, 5, 31])
def test_value_and_gradient_are_those_of_the_whole_batch(size: int) -> None:
    (net, x), (other, _) = setting(), setting()
    whole, parts = loss_of(net(x)), loss_of(in_parts(other, x, size))
    torch.testing.assert_close(parts, whole, rtol=0, atol=1e-12)
    assert len(other.hidden) == -(-32 // size)
    torch.testing.assert_close(gradients(other, parts), gradients(net, whole), rtol=0, atol=1e-12)
    assert len(other.hidden) == 2 * -(-32 // size)


def test_no_part_keeps_what_its_gradient_needs() -> None:
    (net, x), (other, _) = setting(), setting()
    outputs = net(x), in_parts(other, x, 8)
    assert [one() is None for one in net.hidden] == [False]
    assert [one() is None for one in other.hidden] == [True] * 4
    assert len(outputs[0].features) == len(outputs[1].features)


def test_batch_norm_sees_parts_and_counts_each_once() -> None:
    (net, x), (slow, _) = setting(norm=True), setting(norm=True)
    found = gradients(net, loss_of(in_parts(net, x, 8)))

    # Gradient caching by hand: outputs without a graph, the loss's gradient there, and a second pass for each part.
    with torch.no_grad():
        outputs = [slow(part) for part in x.split(8)]
    statistics = {name: value.clone() for name, value in slow.named_buffers()}
    leaves = [torch.cat(column).requires_grad_() for column in zip(*outputs, strict=True)]
    at_outputs = torch.autograd.grad(loss_of(Output(*leaves)), leaves)
    for part, *cached in zip(x.split(8), *(g.split(8) for g in at_outputs), strict=True):
        torch.autograd.backward(list(slow(part)), cached)
    expected = [p.grad for p in slow.parameters() if p.grad is not None]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(dict(net.named_buffers()), statistics)
    assert int(net.norm.num_batches_tracked) == 4


def test_a_small_batch_passes_as_it_is() -> None:
    net, x = setting()
    assert torch.equal(in_parts(net, x, 32).logits, net(x).logits) and len(net.hidden) == 2
    assert torch.equal(in_parts(net, x, None).logits, net(x).logits)
