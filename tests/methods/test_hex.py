"""HEX: its projection and its grey-level statistics against slow computations, and what training with it does."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.data.base import BiasedDataset
from fairflac.methods.hex import HEX, CoOccurrence, project_out
from fairflac.training.evaluate import predictions
from fairflac.types import Batch
from toy import TASK, ToyNet, prepared_training, toy_batches, toy_data


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


def grey_levels(x: Tensor, levels: int) -> list[list[list[int]]]:
    """Of normalised images, by hand: the brightest pixel has the highest level."""
    shown = (x.double() * 0.5 + 0.5).tolist()
    grey = [
        [
            [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in zip(*rows, strict=True)]
            for rows in zip(*image, strict=True)
        ]
        for image in shown
    ]
    tops = [max(max(row) for row in image) for image in grey]
    return [
        [[int((levels - 1) * v / top + 1e-4) for v in row] for row in image]
        for image, top in zip(grey, tops, strict=True)
    ]


def test_co_occurrences() -> None:
    """The authors': sums over all pixels, of the pixel and of what its left neighbour has more than it."""
    torch.manual_seed(0)
    x, levels = torch.rand(3, 3, 4, 5) - 1, 6  # dark images
    module = CoOccurrence(TASK, levels)
    a, b = module.of_difference.tolist(), module.of_pixel.tolist()
    assert min(a + b) >= 0 and max(a + b) < levels
    for image, matrix in zip(grey_levels(x, levels), module(x).view(3, levels, levels).tolist(), strict=True):
        pairs = [((row[i - 1] if i else 0) - row[i], row[i]) for row in image for i in range(5)]
        assert max(v for _, v in pairs) == levels - 1
        for j in range(levels):
            for k in range(levels):
                rises = [min(max(d - a[j], 0), 1) * min(max(v - b[k], 0), 1) for d, v in pairs]
                assert matrix[j][k] == pytest.approx(sum(rises), abs=1e-5)


def test_how_bright_an_image_is_does_not_matter() -> None:
    torch.manual_seed(0)
    module, image = CoOccurrence(TASK, 16), torch.randint(0, 16, (1, 1, 8, 8)).expand(1, 3, 8, 8) / 15
    bright, dark = (2 * image * share - 1 for share in (1.0, 0.4))
    torch.testing.assert_close(module(bright), module(dark))


def test_a_black_image_has_a_texture() -> None:
    assert CoOccurrence(TASK, 4)(torch.full((1, 3, 5, 5), -1.0)).isfinite().all()


def test_every_threshold_that_a_pixel_crosses_has_a_gradient() -> None:
    torch.manual_seed(0)
    module = CoOccurrence(TASK, 8)
    with torch.no_grad():
        module.of_difference.clamp_(max=6), module.of_pixel.clamp_(max=6)
    ramp = torch.linspace(1, -1, 8).expand(1, 3, 8, 8)  # white to black, all at once or step by step
    order = [torch.tensor([0, k, 1, 2, 3, 4, 5, 6]) for k in range(8)]
    module(torch.cat([ramp[..., columns] for columns in order])).square().sum().backward()
    for thresholds in (module.of_difference, module.of_pixel):
        assert thresholds.grad is not None and (thresholds.grad != 0).any()


def texture_logits(method: HEX, batch: Batch) -> Tensor:
    """Every feature of texture has length 1 over the batch."""
    texture = method.texture(batch.x)
    return method.texture_head(texture / texture.square().sum(0, keepdim=True).sqrt().clamp_min(1e-12))


def test_loss_and_prediction(fabric: Fabric) -> None:
    method = make(ridge=1e-8).eval()
    batch, seen = batch_for(method, fabric), []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    with torch.no_grad():
        by_texture = texture_logits(method, batch).double().numpy()
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
        by_texture = texture_logits(method, batch)
    other.net.register_forward_hook(lambda module, x, out: out._replace(logits=out.logits + 5 * by_texture))
    losses = [m.step(batch, lambda loss, *groups: None)["loss"].item() for m in (method, other)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_one_sample_of_each_process_is_enough(fabric: Fabric) -> None:
    method = make()
    logs = method.step(batch_for(method, fabric, n=1), lambda loss, *groups: loss.backward())
    assert logs["loss"].isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in method.parameters())


def lines(n: int, seed: int) -> BiasedDataset:
    """A vertical line in the left or the right half: the same grey levels beside each other in both classes."""
    rng, data = np.random.default_rng(seed), toy_data(n, seed=seed)
    images = rng.integers(60, 80, data.images.shape, dtype=np.uint8)
    images[np.arange(n), :, rng.integers(1, 3, n) + 3 * data.y] += 100
    return replace(data, images=images)


def test_learns_what_is_no_texture(fabric: Fabric, tmp_path: Path) -> None:
    method = make()
    prepared_training(method, lines(800, 0), tmp_path, fabric, epochs=20, batch_size=64).fit("hex", silent=True)
    table = predictions(method, lines(400, 1), fabric)
    assert (table.prediction == table.y).mean() > 0.9
