"""Stage 1 as stage 2 sees it, on real runs with a tiny network."""

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from fairflac.bias_model import bias_source
from fairflac.build import load_config, load_method, load_split
from fairflac.config import resolve
from fairflac.data.tensors import Pixels
from fairflac.runs import Run
from fairflac.train import Place, train

TINY = {"epochs": 1, "channels": [2, 2, 4, 4], "kernel_size": 3, "precision": "32-true"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A FLAC run and its bias model."""
    folder = tmp_path_factory.mktemp("runs")
    run = train(resolve("biased-digits", "flac", 0, TINY), Place(folder, folder, silent=True))
    assert run is not None
    bias_run = next(path for path in folder.rglob(run.result["bias_model"]))
    return run, Run(bias_run)


def test_features_are_addressed_by_sample_index(finished: tuple[Run, Run], fabric: Fabric) -> None:
    run, bias_run = finished
    config = load_config(run)
    data = load_split(config, run.path, "train")
    assert data is not None
    source = bias_source(config, data, fabric, run, bias_run)
    index = torch.tensor([3999, 0, 17])
    (x,) = Pixels(data.images, data.task, fabric.device)(index)
    with torch.no_grad():
        direct = load_method(bias_run).net(x).features
    torch.testing.assert_close(source(index, x), direct, rtol=1e-4, atol=1e-5)
    live = config.model_copy(update={"train": config.train.model_copy(update={"bias_features": "live"})})
    torch.testing.assert_close(bias_source(live, data, fabric, run, bias_run)(index, x), direct)


def test_stored_features_are_used_until_weights_or_data_change(finished: tuple[Run, Run], fabric: Fabric) -> None:
    run, bias_run = finished
    config = load_config(run)
    data = load_split(config, run.path, "train")
    assert data is not None
    before = run.bias_features.stat().st_mtime_ns
    bias_source(config, data, fabric, run, bias_run)
    assert run.bias_features.stat().st_mtime_ns == before
    other = resolve("biased-digits", "flac", 1, TINY)
    changed = load_split(other, run.path, "train")
    assert changed is not None
    bias_source(config, changed, fabric, run, bias_run)
    assert run.bias_features.stat().st_mtime_ns > before


def test_agreement_with_the_attribute_is_recorded(finished: tuple[Run, Run], fabric: Fabric) -> None:
    run, bias_run = finished
    data = load_split(load_config(run), run.path, "train")
    assert data is not None
    (x,) = Pixels(data.images, data.task, fabric.device)(torch.arange(len(data)))
    named = load_method(bias_run).eval().predict(x).argmax(1).numpy()
    agreement = run.result["bias_model_agreement"]["colour"]
    assert agreement == pytest.approx(np.mean(named == data.bias["colour"]), abs=2e-3)
