"""metrics.jsonl and TensorBoard's event files say the same."""

import threading
from pathlib import Path

import pytest

from fairflac.runs.directory import Run
from fairflac.training import history
from fairflac.training.history import HistoryLog

EPOCHS = [
    {"epoch": epoch, "loss": 1.0 / epoch, "validation": {"unbiased": 0.25 * epoch, "aligned:hue": 0.5}}
    for epoch in (1, 2, 3)
]


def scalars(run: Run) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_a_run_that_was_stopped_shows_every_epoch_once(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    first = HistoryLog(Run(tmp_path), "auto")
    first.write(EPOCHS[:1])
    first.write(EPOCHS[:2])
    again = HistoryLog(Run(tmp_path), "auto")
    again.write(EPOCHS)
    again.write(EPOCHS)
    assert Run(tmp_path).history == EPOCHS
    found = scalars(Run(tmp_path))
    assert found["loss"] == [(1, 1.0), (2, 0.5), (3, pytest.approx(1 / 3))]
    assert found["validation/unbiased"] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert set(found) == {"loss", "validation/unbiased", "validation/aligned/hue"}


def test_a_folder_that_is_gone_is_one_line_and_no_traceback_of_a_thread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    run, before = Run(tmp_path / "run"), set(threading.enumerate())  # other tests' libraries have threads too
    run.path.mkdir()
    with HistoryLog(run, "tensorboard") as log:
        run.path.rename(tmp_path / "gone")
        log.write(EPOCHS[:1])
        assert set(threading.enumerate()) <= before
    assert capsys.readouterr().err.count("\n") == 1


def test_without_tensorboard_there_is_metrics_jsonl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "find_spec", lambda name: None)
    HistoryLog(Run(tmp_path), "auto").write(EPOCHS)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_nobody_else_is_told_who_was_not_asked_for(tmp_path: Path) -> None:
    for log in (HistoryLog(Run(tmp_path)), HistoryLog(Run(tmp_path), "none")):
        log.write(EPOCHS)
        log.write_result({"accuracy": 1.0})
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]
