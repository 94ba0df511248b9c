"""HEX: its projection and its grey-level statistics against slow computations, and what training with it does."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.losses.projection import project_out
from fairflac.methods.hex import HEX, CoOccurrence
from fairflac.types import Batch
from toy import TASK, ToyNet, conflicting_accuracy, toy_batches, toy_data


def make(**options: float) -> HEX:
    torch.manual_seed(0)
    return HEX(ToyNet(2), TASK, **options)  # type: ignore[arg-type]


def batch_for(method: HEX, fabric: Fabric, n: int = 24) -> Batch:
    return toy_batches(method, toy_data(), fabric)(torch.arange(n), 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5))
def test_what_is_left_is_the_residual_of_least_squares(seed: int, columns: int, explained: int) -> None:
    rng = np.random.default_rng(seed)
    g, a = rng.normal(size=(12, columns)), rng.normal(size=(12, explained))
    residual = a - g @ np.linalg.lstsq(g, a, rcond=None)[0]
    rest = project_out(torch.from_numpy(a), torch.from_numpy(g), ridge=1e-9)
    np.testing.assert_allclose(rest.numpy(), residual, atol=1e-4)


@pytest.mark.parametrize("n", [1, 3, 16])
@pytest.mark.parametrize("kind", ["zero", "constant", "repeated"])
def test_the_projection_is_finite_without_full_rank(n: int, kind: str) -> None:
    torch.manual_seed(0)
    column = {"zero": torch.zeros(n, 1), "constant": torch.ones(n, 1), "repeated": torch.randn(n, 1)}[kind]
    g = column.repeat(1, 5).requires_grad_()
    a = torch.randn(n, 5, requires_grad=True)
    rest = project_out(a, g)
    rest.square().sum().backward()
    assert rest.isfinite().all()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (a, g))
    torch.testing.assert_close(column.T @ rest, torch.zeros(1, 5), atol=0.02, rtol=0)


def grey_levels(x: Tensor, levels: int) -> list[list[list[float]]]:
    """Of normalised images, by hand."""
    shown = (x * 0.5 + 0.5).tolist()
    return [
        [
            [levels * (0.299 * r + 0.587 * g + 0.114 * b) for r, g, b in zip(*rows, strict=True)]
            for rows in zip(*image, strict=True)
        ]
        for image in shown
    ]


def test_co_occurrences() -> None:
    torch.manual_seed(0)
    x, levels = torch.rand(2, 3, 4, 5) * 2 - 1, 3
    module = CoOccurrence(TASK, levels)
    with torch.no_grad():
        module.left += 0.3 * torch.randn(levels)
        module.right += 0.3 * torch.randn(levels)
    left, right = module.left.tolist(), module.right.tolist()
    for image, matrix in zip(grey_levels(x, levels), module(x).view(2, levels, levels).tolist(), strict=True):
        pairs = [(row[i], row[i + 1]) for row in image for i in range(4)]
        for j in range(levels):
            for k in range(levels):
                rises = [min(max(u - left[j], 0), 1) * min(max(v - right[k], 0), 1) for u, v in pairs]
                assert matrix[j][k] == pytest.approx(sum(rises) / len(pairs), abs=1e-5)


def test_every_threshold_that_a_pixel_crosses_has_a_gradient() -> None:
    module = CoOccurrence(TASK, 8)
    ramp = torch.linspace(-1, 1, 64).view(1, 1, 8, 8).expand(1, 3, 8, 8)  # black to white
    module(ramp).square().sum().backward()
    for thresholds in (module.left, module.right):
        assert thresholds.grad is not None and (thresholds.grad != 0).all()


def test_loss_and_prediction(fabric: Fabric) -> None:
    method = make(ridge=1e-8).eval()
    batch, seen = batch_for(method, fabric), []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    with torch.no_grad():
        by_texture = method.texture_head(method.texture(batch.x)).double().numpy()
        plain = method.net(batch.x).logits
        everything = plain.double().numpy() + by_texture
    rest = everything - by_texture @ np.linalg.lstsq(by_texture, everything, rcond=None)[0]
    expected = F.cross_entropy(torch.from_numpy(rest), batch.y)
    assert seen[0].item() == pytest.approx(expected.item(), rel=1e-2)
    assert torch.equal(method.predict(batch.x), plain)


def test_what_texture_explains_is_not_trained(fabric: Fabric) -> None:
    """Logits that the texture branch can predict earn nothing: they may be added without a change of the loss."""
    method = make()
    batch = batch_for(method, fabric)
    other = copy.deepcopy(method)
    with torch.no_grad():
        by_texture = method.texture_head(method.texture(batch.x))
    other.net.register_forward_hook(lambda module, x, out: out._replace(logits=out.logits + 5 * by_texture))
    losses = [m.step(batch, lambda loss, *groups: None)["loss"].item() for m in (method, other)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_one_sample_of_each_process_is_enough(fabric: Fabric) -> None:
    method = make()
    logs = method.step(batch_for(method, fabric, n=1), lambda loss, *groups: loss.backward())
    assert logs["loss"].isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in method.parameters())


def test_leans_less_on_the_brightness(fabric: Fabric, tmp_path: Path) -> None:
    """Vanilla has 0. Grey levels show the brightness, but the branch is free to learn something else."""
    assert conflicting_accuracy("hex", tmp_path, fabric) > 0.1
