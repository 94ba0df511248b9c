import math

import pytest
import torch
import torch.nn.functional as F

from fairflac.losses.reweighting import gce_loss


def test_equals_the_equation() -> None:
    logits, y = torch.tensor([[2.0, 0.0, -1.0], [0.0, 3.0, 1.0]]), torch.tensor([0, 2])
    for i, value in enumerate(gce_loss(logits, y, q=0.7).tolist()):
        exponentials = [math.exp(v) for v in logits[i].tolist()]
        p = exponentials[int(y[i])] / sum(exponentials)
        assert value == pytest.approx((1 - p**0.7) / 0.7, rel=1e-5)


def test_gradient_is_cross_entropys_times_the_confidence() -> None:
    logits = torch.randn(6, 4, dtype=torch.float32, requires_grad=True)
    y = torch.randint(0, 4, (6,))
    ours = torch.autograd.grad(gce_loss(logits, y).sum(), logits)[0]
    plain = torch.autograd.grad(F.cross_entropy(logits, y, reduction="sum"), logits)[0]
    confidence = logits.softmax(1).gather(1, y[:, None]).detach() ** 0.7
    torch.testing.assert_close(ours, confidence * plain)
