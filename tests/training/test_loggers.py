"""MLflow and Weights & Biases are told what metrics.jsonl says, each epoch once, whatever was stopped."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import small_runs
from fairflac.errors import Stopped, UserError
from fairflac.runs.directory import Run, Workspace
from fairflac.training import history
from fairflac.training.history import HistoryLog, check_logger
from fairflac.training.pipeline import train_config
from program import Program, refused

EPOCHS: list[dict[str, Any]] = [
    {"epoch": epoch, "loss": 1.0 / epoch, "validation": {"unbiased": 0.25 * epoch}} for epoch in (1, 2, 3)
]
RESULT = {"accuracy": 0.75}


@pytest.fixture
def whole_lightning(monkeypatch: pytest.MonkeyPatch) -> None:
    """With torchmetrics, which tests do without otherwise."""
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if Path(folder).name != "light_imports"])


def tell_half(log: HistoryLog) -> None:
    with log:
        log.write(EPOCHS[:1])
        log.write(EPOCHS[:2])
        raise Stopped("Ctrl-C")


def tell_all(logger: str, run: Run) -> None:
    """Stopped after two epochs, then gone on with to the end."""
    config = small_runs.config()
    with pytest.raises(Stopped):
        tell_half(HistoryLog(run, logger, config))
    with HistoryLog(run, logger, config) as log:
        log.write(EPOCHS)
        log.write(EPOCHS)
        log.write_result(RESULT)
    assert run.history == EPOCHS


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
@pytest.mark.usefixtures("whole_lightning")
def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    pytest.importorskip("lightning")
    from mlflow.tracking import MlflowClient

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run = Run(tmp_path / "runs" / "toy" / "flac" / "feed-s0")
    tell_all("mlflow", run)
    client = MlflowClient(f"sqlite:///{tmp_path}/runs/mlflow.db")
    (found,) = client.search_runs([client.get_experiment_by_name("fairflac").experiment_id])
    assert found.info.run_name == "flac-feed-s0" and found.info.status == "FINISHED"
    assert found.data.params["method"] == "vanilla" and found.data.metrics["test/accuracy"] == 0.75
    for name, values in (("loss", [1.0, 0.5, 1 / 3]), ("validation/unbiased", [0.25, 0.5, 0.75])):
        told = client.get_metric_history(found.info.run_id, name)
        assert [(one.step, one.value) for one in told] == list(enumerate(values, start=1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
@pytest.mark.usefixtures("whole_lightning")
def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    pytest.importorskip("lightning")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = Run(tmp_path / "runs" / "toy" / "flac" / "feed-s0")
    tell_all("wandb", run)
    kept = json.loads((run.path / "logger.json").read_text())["wandb"]
    assert kept["epochs"] == 3
    files = f"wandb/offline-run-*-{kept['id']}/*.wandb"  # before and after the stop, of one run

    def told() -> bytes:
        return b"".join(file.read_bytes() for file in run.path.glob(files))

    small_runs.wait_until(lambda: b"test/accuracy" in told())  # its own process writes when it likes
    assert b"validation/unbiased" in told()


def test_a_logger_that_fails_costs_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Away:
        def __init__(self, run: Run) -> None:
            pass

        def write(self, numbers: object, epoch: int) -> None:
            raise ConnectionError("the server\nis away")

        def close(self, finished: bool) -> None:
            raise AssertionError("nobody asks it again")

    monkeypatch.setattr(history, "_TensorBoard", Away)
    run = train_config(small_runs.config(), Workspace(tmp_path, tmp_path, silent=True, logger="tensorboard"))
    assert run is not None and run.done and len(run.history) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if "logger" in line]
    assert said == ["logger tensorboard failed and is told nothing more: the server is away"]


def test_what_is_not_there_is_said_before_anything_is_trained(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "find_spec", lambda name: None)
    words = ["train", "biased-digits", "vanilla", "--runs", tmp_path / "runs", "--data", tmp_path]
    refused(program(*words, "--logger", "wandb"), "wandb and lightning", 'pip install "fairflac[wandb]"')
    refused(program(*words, "--logger", "neptune"), "neptune")
    assert not (tmp_path / "runs").exists()
    with pytest.raises(UserError, match="unknown logger 'mlfow': did you mean 'mlflow'"):
        check_logger("mlfow")
    check_logger("auto")
    check_logger("none")
