"""Stage 1 as stage 2 sees it, on real runs with a tiny network."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from fairflac import train
from fairflac.config.run_config import resolve
from fairflac.data.batches import ImageInputs
from fairflac.discovery import bias_model
from fairflac.discovery.bias_model import bias_source
from fairflac.errors import UserError
from fairflac.exporting.card import bias_model_section
from fairflac.metrics.evidence import count_guesses
from fairflac.nets.small import SimpleConvNet
from fairflac.reporting.checks import bias_model_quality
from fairflac.reporting.naming import Names, labels
from fairflac.reporting.provenance import bias_runs
from fairflac.runs.directory import Run, Workspace, find_runs
from fairflac.training.build import load_config, load_method, load_split
from fairflac.training.engine import make_fabric
from fairflac.training.evaluate import infer
from fairflac.training.pipeline import dry_run, import_run, train_config

TINY = {"epochs": 1, "channels": [2, 2, 4, 4], "kernel_size": 3, "precision": "32-true"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A FLAC run and its bias model."""
    folder = tmp_path_factory.mktemp("runs")
    run = train_config(resolve("biased-digits", "flac", 0, TINY), Workspace(folder, folder, silent=True))
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
    (x,) = ImageInputs(data.images, data.task, fabric.device)(index)
    with torch.no_grad():
        direct = load_method(bias_run).net(x).features
    torch.testing.assert_close(source(index, x).features, direct, rtol=1e-4, atol=1e-5)
    live = config.model_copy(update={"train": config.train.model_copy(update={"bias_features": "live"})})
    torch.testing.assert_close(bias_source(live, data, fabric, run, bias_run)(index, x).features, direct)


def test_stored_features_are_used_until_weights_or_data_change(
    finished: tuple[Run, Run], fabric: Fabric, tmp_path: Path
) -> None:
    run, bias_run = Run(shutil.copytree(finished[0].path, tmp_path / "run")), finished[1]
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


def test_what_is_gone_right_after_it_was_written_is_one_line(
    finished: tuple[Run, Run], fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, bias_run = finished
    config = load_config(run)
    data = load_split(config, run.path, "train")
    assert data is not None
    monkeypatch.setattr(bias_model, "_store", lambda *given: None)
    monkeypatch.setattr(bias_model, "_read_output", lambda *given: None)
    with pytest.raises(UserError, match="is gone, or what was just written there"):
        bias_source(config, data, fabric, run, bias_run)


def test_agreement_with_the_attribute_is_recorded(finished: tuple[Run, Run], fabric: Fabric) -> None:
    run, bias_run = finished
    data = load_split(load_config(run), run.path, "train")
    assert data is not None
    (x,) = ImageInputs(data.images, data.task, fabric.device)(torch.arange(len(data)))
    named = load_method(bias_run).eval().predict(x).argmax(1).numpy()
    agreement = run.result["bias_model_quality"]["agreement:colour"]
    assert agreement == pytest.approx(np.mean(named == data.bias["colour"]), abs=2e-3)
    assert run.result["bias_model_quality"]["n"] == len(data)
    counts = bias_source(load_config(run), data, fabric, run, bias_run).guess_counts
    assert counts is not None and np.abs(counts - count_guesses(data.y, named)).sum() <= 4  # up to rounding


def test_the_quality_gate(finished: tuple[Run, Run]) -> None:
    """1 x 1 kernels see colour and nothing else."""
    quality = finished[0].result["bias_model_quality"]
    assert 0 < quality["share"] < 1 and quality["pairs"] > 0
    assert quality["attribute_probe:colour"] > 0.3 > quality["class_probe"]
    assert {
        f"{half}.{key}" for half in ("s", "same_target", "different_target") for key in ("precision", "recall")
    } < set(quality)


def test_pairs_are_those_of_the_first_epoch(finished: tuple[Run, Run]) -> None:
    run = finished[0]
    pairs = np.load(run.pairs_per_batch)
    assert len(pairs) == 4000 // load_config(run).train.batch_size
    assert pairs.mean() == pytest.approx(run.history[0]["pairs"]) == run.result["bias_model_quality"]["pairs"]


def test_every_number_of_the_gate_has_an_interval(finished: tuple[Run, Run]) -> None:
    quality = finished[0].result["bias_model_quality"]
    names = {name for name in quality if f"{name}.low" in quality}
    assert {"agreement:colour", "attribute_probe:colour", "class_probe", "pairs", "s.precision"} < names
    assert all(quality[f"{name}.low"] <= quality[name] <= quality[f"{name}.high"] for name in names)
    assert all(quality[f"{name}.n"] > 0 for name in names)
    assert {name.rpartition(".")[0] for name in quality if name.endswith((".low", ".high", ".n"))} == names


def test_live_features_have_a_quality_too(finished: tuple[Run, Run], fabric: Fabric, tmp_path: Path) -> None:
    run, bias_run = finished
    config = load_config(run)
    live = config.model_copy(update={"train": config.train.model_copy(update={"bias_features": "live"})})
    data = load_split(config, tmp_path, "train")
    assert data is not None
    other = Run(tmp_path)
    source = bias_source(live, data, fabric, other, bias_run)
    assert source.table is None and not other.bias_features.exists()
    assert source.quality == run.result["bias_model_quality"] and other.pairs_per_batch.exists()


def test_weights_from_a_file_as_bias_model(finished: tuple[Run, Run], fabric: Fabric, tmp_path: Path) -> None:
    """A run's checkpoint, and a plain state dict: the features are those of the model it came from."""
    run, bias_run = finished
    model = load_method(bias_run)
    data = load_split(load_config(run), tmp_path, "train")
    assert data is not None
    _, features = infer(model, data, fabric, torch.arange(len(data)))
    torch.save(model.net.state_dict(), tmp_path / "colour.pth")
    changes = {**TINY, "bias_model.weights": str(tmp_path / "colour.pth"), "bias_model.epochs": 0}
    other = train_config(resolve("biased-digits", "flac", 0, changes), Workspace(tmp_path, tmp_path, silent=True))
    assert other is not None
    np.testing.assert_array_equal(np.load(other.bias_features), features.numpy())
    assert "agreement:colour" not in other.result["bias_model_quality"]  # nobody says what its outputs mean
    options = load_config(bias_run).net_options
    again = SimpleConvNet(10, **{**options, "weights": bias_run.last})  # a checkpoint holds the network's weights too
    assert all(
        torch.equal(a, b) for a, b in zip(again.state_dict().values(), model.net.state_dict().values(), strict=True)
    )


def test_a_finished_run_as_bias_model(finished: tuple[Run, Run], tmp_path: Path) -> None:
    run, bias_run = finished
    config = resolve("biased-digits", "flac", 0, {**TINY, "bias_model": str(bias_run.path)})
    assert config == load_config(run)
    workspace = Workspace(tmp_path, tmp_path, silent=True)
    import_run(bias_run.path, workspace)
    other = train_config(config, workspace)
    assert other is not None and other.result["test"] == run.result["test"]
    assert len(find_runs(tmp_path)) == 2


def test_labels_that_trained_the_bias_model_are_owned_up_to(tmp_path: Path) -> None:
    config = resolve("biased-digits", "flac-b", 0, TINY | {"bias_model.method": "groupdro"})
    run = train_config(config, Workspace(tmp_path, tmp_path, silent=True))
    assert run is not None and run.result["attribute_labels"] == 1.0


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"weights": "evil.pt"}, "there is no weight file"),
        ({"selection": "accuracy"}, "needs validation data"),
        ({"batch_size": 20_000}, "hold out a smaller share|take smaller batches"),
    ],
)
def test_what_ends_a_run_is_said_before_its_bias_model_is_trained(
    tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    fine = {f"bias_model.{key}": value for key, value in {"batch_size": 128, "selection": "last"}.items()}
    config = resolve("biased-digits", "flac", 0, {**TINY, **fine, **changes})
    with pytest.raises(UserError, match=told):
        train_config(config, Workspace(tmp_path, tmp_path, silent=True))
    assert not find_runs(tmp_path)


def test_a_finished_bias_model_is_opened_before_anything_is_trained(finished: tuple[Run, Run], photos: Path) -> None:
    config = resolve("biased-digits", "flac", 0, {**TINY, "epochs": 2, "bias_model": str(finished[1].path)})
    workspace = Workspace(finished[1].path.parents[2], photos, silent=True)
    dry_run(config, workspace)
    (finished[1].path / "last.pt").rename(finished[1].path / "away.pt")
    try:
        with pytest.raises(UserError, match=r"there is no checkpoint"):
            dry_run(config, workspace)
    finally:
        (finished[1].path / "away.pt").rename(finished[1].path / "last.pt")


def test_a_result_has_the_validation_of_the_kept_epoch_and_every_class(tmp_path: Path) -> None:
    changes = {**TINY, "epochs": 3, "lr": 0.3, "validation": 0.1, "selection": "accuracy"}  # the rate makes it jump
    run = train_config(resolve("biased-digits", "vanilla", 0, changes), Workspace(tmp_path, tmp_path, silent=True))
    assert run is not None
    result, shares = run.result, [entry["validation"]["accuracy"] for entry in run.history]
    assert result["validation"]["accuracy"] == max(shares) and len(set(shares)) > 1
    confusion = np.array(result["confusion"])
    assert confusion.shape == (10, 10) and confusion.sum() == len(run.predictions)
    recall = [one["value"] for one in result["class_accuracy"].values()]
    assert recall == pytest.approx(confusion.diagonal() / confusion.sum(1))
    assert sum(result["training_images"]) == 4000 * 0.9
    assert result["majority"]["accuracy"]["value"] == 0.1


def test_a_run_against_two_attributes_has_two_bias_models(finished: tuple[Run, Run], tmp_path: Path) -> None:
    """The second is a finished run of the user's, which predicts the frame; each keeps its output."""
    workspace = Workspace(tmp_path / "runs", tmp_path, silent=True, logger="none")
    framer = train_config(
        resolve("biased-digits", "vanilla", 0, {**TINY, "frame_q": 0.1, "target": "frame"}), workspace
    )
    assert framer is not None
    changes = {**TINY, "frame_q": 0.9, "bias_model": str(finished[1].path), "combine": "max"}
    changes |= {"other_bias_models": [{"run": str(framer.path)}]}
    own = replace(workspace, runs=tmp_path / "others")
    run = train("biased-digits", "flac", workspace=own, report=False, **changes)
    assert run is not None and run.result["bias_model"] == finished[1].path.name
    (other,) = run.result["other_bias_models"]
    assert other["run"] == framer.path.name and "agreement:frame" in other["quality"]
    assert "agreement:colour" in run.result["bias_model_quality"]
    config = load_config(run)
    data = load_split(config, tmp_path, "train")
    assert data is not None and [stage.target for stage in config.stages_one()] == ["colour", "frame"]
    expected = infer(load_method(framer), data, make_fabric(), torch.arange(len(data)))
    kept = run.of_bias_model(2)
    for path, values in ((kept.bias_logits, expected.logits), (kept.bias_features, expected.features)):
        np.testing.assert_array_equal(np.load(path), values)
    assert run.history[0]["pairs_2"] == pytest.approx(np.load(kept.pairs_per_batch).mean())
    said = bias_model_quality("flac", run, Names.of(run.result))
    assert [one.model for one in said] == ["flac", "flac, frame"] and all(one.checks for one in said)
    assert "learnt the colour and frame from labels of other data" in labels(run).clause
    assert [one.path.name for one in bias_runs(run)] == [finished[1].path.name, framer.path.name]
    section = " ".join(bias_model_section(run, Names.of(run.result)))
    assert "predicts the colour" in section and f"predicts the frame (run {framer.path.name})" in section
