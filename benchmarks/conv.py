"""Ordinary against our convolutions, forward and backward: shapes of the paper's network, and steps of whole networks.

    python benchmarks/conv.py [rounds]

Both ways take turns within a round, so that a busy machine slows both, and the best time of each counts; "chosen" is
what `FastConv2d` does by its rule. The last lines are training steps of SimpleConvNet (k = 7) and of ResNet-18, whose
small maps go pixel by pixel. On a busy machine set OMP_WAIT_POLICY=passive: the spectral way is many short calls, and
threads that wait actively hold each other up.
"""

import sys
from collections.abc import Callable, Sequence
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, cross_entropy

from fairflac.nets.fast_conv import FastConv2d, spectral_conv2d, spectral_pays
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.types import Network

BATCH = 128
SHAPES = [(size, c, o) for size in (28, 14) for c, o in ((3, 16), (16, 32), (32, 64), (64, 128))]


def best(ways: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The best time of each way in milliseconds, after a round that warms up."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds + 1):
        for way, seen in zip(ways, times, strict=True):
            start = perf_counter()
            way()
            seen.append(1e3 * (perf_counter() - start))
    return [min(seen[1:]) for seen in times]


def layer(size: int, c: int, o: int) -> tuple[list[Callable[[], object]], bool]:
    """Forward and backward of one layer both ways; images, which 3 channels are, need no gradient."""
    x = torch.randn(BATCH, c, size, size).contiguous(memory_format=torch.channels_last).requires_grad_(c > 3)
    weight, bias = (torch.randn(shape, requires_grad=True) for shape in ((o, c, 7, 7), (o,)))
    grad = torch.randn(BATCH, o, size, size).contiguous(memory_format=torch.channels_last)
    inputs = [tensor for tensor in (x, weight, bias) if tensor.requires_grad]

    def ordinary() -> tuple[Tensor, ...]:
        return torch.autograd.grad(conv2d(x, weight, bias, padding=3), inputs, grad)

    def spectral() -> tuple[Tensor, ...]:
        return torch.autograd.grad(spectral_conv2d(x, weight, bias), inputs, grad)

    return [ordinary, spectral], spectral_pays(x.shape, weight.shape)


def with_ordinary_convolutions(net: Network) -> Network:
    for module in net.modules():
        if isinstance(module, FastConv2d):
            module.__class__ = nn.Conv2d
    return net


def step(net: Network, size: int) -> Callable[[], object]:
    net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.Adam(net.parameters(), fused=True)
    x = torch.randn(BATCH, 3, size, size).contiguous(memory_format=torch.channels_last)
    y = torch.randint(10, (BATCH,))

    def once() -> None:
        optimiser.zero_grad()
        cross_entropy(net(x).logits, y).backward()
        optimiser.step()

    return once


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'batch 128, kernel 7':24}{'ordinary ms':>12}{'spectral ms':>12}{'ratio':>8}  chosen")
    for size, c, o in SHAPES:
        ways, pays = layer(size, c, o)
        ordinary, spectral = best(ways, rounds)
        chosen = "spectral" if pays else "ordinary"
        print(f"{f'{size} x {size}, {c} → {o}':24}{ordinary:12.1f}{spectral:12.1f}{ordinary / spectral:8.2f}  {chosen}")
    print(f"{'a training step':24}{'ordinary ms':>12}{'ours ms':>12}{'ratio':>8}")
    for name, net, size in (
        ("SimpleConvNet", SimpleConvNet, 28),
        ("ResNet-18", ResNet18, 32),
        ("ResNet-18", ResNet18, 64),
    ):
        ordinary, ours = best([step(with_ordinary_convolutions(net(10)), size), step(net(10), size)], rounds)
        print(f"{f'{name}, {size} x {size}':24}{ordinary:12.1f}{ours:12.1f}{ordinary / ours:8.2f}")


if __name__ == "__main__":
    main()
