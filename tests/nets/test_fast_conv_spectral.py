"""Everything is compared with torch's own convolution, which knows nothing of frequencies."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import conv2d

from fairflac.nets import fast_conv as spectral_conv
from fairflac.nets.fast_conv import spectral_conv2d, spectral_pays

Shape = tuple[int, int, int, int, int, int]
BIG: Shape = (32, 16, 16, 16, 16, 7)  # the rule takes the spectral way


def example(shape: Shape, dtype: torch.dtype = torch.float32, bias: bool = True) -> list[Tensor]:
    """x, weight and maybe bias from (B, C, O, H, W, k)."""
    b, c, o, h, w, k = shape
    generator = torch.Generator().manual_seed(0)
    sizes = [(b, c, h, w), (o, c, k, k), (o,)]
    return [torch.randn(s, generator=generator, dtype=dtype).requires_grad_() for s in sizes[: 2 + bias]]


def results(convolution: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """The output, and the gradients of all inputs for a gradient of the output that differs everywhere."""
    y = convolution(*inputs)
    grad = torch.arange(y.numel(), dtype=y.dtype).sin().view_as(y)
    return [y.detach(), *torch.autograd.grad(y, inputs, grad)]


def ordinary(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return conv2d(x, weight, bias, padding=weight.shape[2] // 2)


def assert_same(actual: list[Tensor], expected: list[Tensor], tolerance: float) -> None:
    for a, e in zip(actual, expected, strict=True):
        assert a.shape == e.shape and (a - e).abs().max() <= tolerance * e.abs().max()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-10)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("k", [1, 3, 5, 7, 9])
@pytest.mark.parametrize("sizes", [(4, 3, 5, 28, 28), (1, 1, 1, 9, 14), (2, 4, 1, 13, 8), (3, 1, 6, 2, 3)])
def test_output_and_gradients(sizes: tuple[int, ...], k: int, bias: bool, dtype: torch.dtype, tolerance: float) -> None:
    b, c, o, h, w = sizes
    inputs = example((b, c, o, h, w, k), dtype, bias)
    assert_same(results(spectral_conv2d, inputs), results(ordinary, inputs), tolerance)


@given(st.tuples(*map(st.integers, [1] * 5, [3, 4, 4, 12, 12]), st.sampled_from([1, 3, 5, 7, 9, 11])))
@settings(deadline=None, max_examples=60)
def test_any_shape(shape: Shape) -> None:
    inputs = example(shape, torch.float64)
    assert_same(results(spectral_conv2d, inputs), results(ordinary, inputs), 1e-10)


def test_a_kernel_need_not_be_square() -> None:
    x, weight = torch.randn(2, 3, 7, 10).double(), torch.randn(4, 3, 5, 3).double()
    torch.testing.assert_close(spectral_conv2d(x, weight), conv2d(x, weight, padding="same"))


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(spectral_conv2d, example((2, 2, 3, 5, 4, 3), torch.float64))


def test_an_even_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="odd"):
        spectral_conv2d(torch.zeros(1, 1, 8, 8), torch.zeros(1, 1, 3, 4))


def test_a_second_derivative_is_refused() -> None:
    x, weight = example((1, 1, 1, 5, 5, 3), bias=False)
    (grad,) = torch.autograd.grad(spectral_conv2d(x, weight).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize("needed", [0, 1, 2])
def test_only_the_gradients_that_are_needed(needed: int) -> None:
    inputs = [tensor.requires_grad_(i == needed) for i, tensor in enumerate(example((2, 3, 4, 8, 8, 5)))]
    spectral_conv2d(*inputs).sum().backward()
    assert [tensor.grad is not None for tensor in inputs] == [i == needed for i in range(3)]


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_any_layout_in_and_channels_last_out(memory_format: torch.memory_format) -> None:
    x, weight, bias = example(BIG)
    y = spectral_conv2d(x.contiguous(memory_format=memory_format), weight.contiguous(memory_format=memory_format), bias)
    assert y.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(y, ordinary(x, weight, bias), rtol=1e-4, atol=1e-3)


def test_the_result_may_be_changed_in_place() -> None:
    inputs = example((2, 3, 4, 8, 8, 5), torch.float64)
    expected = results(lambda *tensors: ordinary(*tensors).relu(), inputs)
    assert_same(results(lambda *tensors: spectral_conv2d(*tensors).relu_(), inputs), expected, 1e-10)


def test_working_memory_is_not_shared_with_results_nor_spoilt_by_inference() -> None:
    inputs = example((2, 3, 4, 8, 8, 5), torch.float64)
    spectral_conv._memory.__dict__.clear()
    with torch.inference_mode():
        y = spectral_conv2d(*inputs)
    first = results(spectral_conv2d, inputs)
    with torch.no_grad():
        spectral_conv2d(*example((3, 4, 5, 9, 9, 7), torch.float64))
    assert_same([y, *first], [first[0], *results(ordinary, inputs)], 1e-10)


def test_in_parts_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = example((7, 3, 4, 10, 9, 5), torch.float64)
    whole = results(spectral_conv2d, inputs)
    spectral_conv._memory.__dict__.clear()
    monkeypatch.setattr(spectral_conv, "BOUND", 100_000)
    assert_same(results(spectral_conv2d, inputs), whole, 1e-12)
    roles = {role: buffer.nbytes for role, buffer in spectral_conv._memory.__dict__.items()}
    assert sum(roles.values()) - roles["kernel torch.float64 cpu"] <= 100_000


def test_bit_for_bit_the_same_again() -> None:
    inputs = example(BIG)
    first, second = results(spectral_conv2d, inputs), results(spectral_conv2d, inputs)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("shape", "pays"),
    [
        ((128, 64, 128, 28, 28, 7), True),
        ((128, 32, 64, 28, 28, 7), True),
        ((128, 16, 32, 28, 28, 7), True),
        ((128, 3, 16, 28, 28, 7), False),  # too few channels
        ((128, 128, 128, 8, 8, 3), True),
        ((16, 128, 128, 8, 8, 3), False),
        ((1, 64, 128, 28, 28, 7), False),  # the kernel's spectrum for one image
        ((4, 16, 16, 8, 8, 5), False),
        ((0, 64, 128, 28, 28, 7), False),
        ((128, 512, 512, 28, 28, 7), False),  # a kernel's spectrum of 2 GB
    ],
)
def test_the_rule(shape: Shape, pays: bool) -> None:
    b, c, o, h, w, k = shape
    assert spectral_pays(torch.Size((b, c, h, w)), torch.Size((o, c, k, k))) == pays
