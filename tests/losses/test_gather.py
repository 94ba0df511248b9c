"""FLAC's loss over the batch of two real processes is that of one process with the joint batch."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import two_losses
from fairflac.losses import FLACLoss, flac_loss
from two_losses import LOSSES, N, batch, linear


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder, script = tmp_path_factory.mktemp("two"), Path(two_losses.__file__)
    workers = [subprocess.Popen([sys.executable, str(script), str(folder), str(rank)]) for rank in range(2)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("name", LOSSES)
def test_two_processes_equal_one_with_the_joint_batch(name: str, of_two: list[dict[str, Any]]) -> None:
    (b, x, y), loss, net = batch(), LOSSES[name](), linear()
    value = loss(b, net(x), y)
    value.backward()
    assert loss.stats["pairs"] > 0
    for result in of_two:
        torch.testing.assert_close(result[name]["value"], value.detach())
        torch.testing.assert_close(result[name]["gradient"], net.weight.grad)
        assert result[name]["pairs"] == loss.stats["pairs"]


def test_there_is_something_to_gather() -> None:
    """Half a batch has less than half its pairs, so that the test above can fail."""
    b, x, y = batch()
    half, whole = FLACLoss(), FLACLoss()
    half(b[: N // 2], x[: N // 2], y[: N // 2])
    whole(b, x, y)
    assert half.stats["pairs"] < whole.stats["pairs"] / 2


def test_batches_of_unequal_size_are_told(of_two: list[dict[str, Any]]) -> None:
    for result in of_two:
        assert "12, 11" in result["uneven"] and "drop_last" in result["uneven"]


def test_one_process_has_nothing_to_gather() -> None:
    b, x, y = batch()
    assert torch.equal(FLACLoss(gather=True)(b, x, y), FLACLoss()(b, x, y))
    assert torch.equal(flac_loss(b, x, y, gather=True), FLACLoss()(b, x, y))
