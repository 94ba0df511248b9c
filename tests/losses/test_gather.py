"""FLAC's loss over the batch of several real processes is that of one process with the joint batch."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import several_losses
from fairflac.losses import FLACLoss, flac_loss
from fairflac.losses.flac.problem import PairProblem, Points
from fairflac.losses.flac.tiled import tiled_flac
from fairflac.losses.gather import Share
from several_losses import FORMS, LOSSES, SPLITS, N, batch, linear


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, script = tmp_path_factory.mktemp("several"), Path(several_losses.__file__)
    subprocess.run([sys.executable, str(script), str(folder)], check=True)  # pytest has a limit
    return folder


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("sizes", SPLITS, ids=str)
def test_several_processes_equal_one_with_the_joint_batch(name: str, sizes: tuple[int, ...], together: Path) -> None:
    (b, x, y), loss, net = batch(sum(sizes)), LOSSES[name](), linear()
    value = loss(b, net(x), y)
    value.backward()
    assert loss.stats["pairs"] > 0
    for rank in range(len(sizes)):
        results = torch.load(together / f"{rank} of {len(sizes)}.pt", weights_only=True)[str(sizes)]
        for form in FORMS:
            found: dict[str, Any] = results[f"{name} {form}"]
            assert_close(found["value"], value.detach())
            assert_close(found["gradient"], net.weight.grad)
            assert_close(found["stats"], loss.stats)


def test_there_is_something_to_gather() -> None:
    """Half a batch has less than half its pairs, so that the test above can fail."""
    b, x, y = batch()
    half, whole = FLACLoss(), FLACLoss()
    half(b[: N // 2], x[: N // 2], y[: N // 2])
    whole(b, x, y)
    assert half.stats["pairs"] < whole.stats["pairs"] / 2


def test_each_process_computes_its_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """N²/P distances of either model, and as many again for the threshold; one process takes the triangle for that."""
    computed: list[int] = []
    tile = Points.tile

    def counted(points: Points, rows: slice, first: int = 0) -> Any:
        found = tile(points, rows, first)
        computed.append(found.shape[0] * found.shape[1])
        return found

    monkeypatch.setattr(Points, "tile", counted)
    monkeypatch.setattr(Share, "largest", lambda _, x: x)
    monkeypatch.setattr(Share, "summed", lambda _, x: x)
    (b, x, y), settings, work = batch(), FLACLoss().settings, {}
    for processes in (2, 4):
        computed.clear()
        share = Share(slice(0, N // processes), processes)
        problem = PairProblem(b, x, y, settings, share)
        tiled_flac(problem)
        work[processes] = sum(computed)
    assert work == {2: 4 * N * N // 2, 4: 4 * N * N // 4}  # asked for; the bias model's are kept and computed once


def test_one_process_has_nothing_to_gather() -> None:
    b, x, y = batch()
    assert torch.equal(FLACLoss(gather=True)(b, x, y), FLACLoss()(b, x, y))
    assert torch.equal(flac_loss(b, x, y, gather=True), FLACLoss()(b, x, y))
