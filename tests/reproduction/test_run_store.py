"""Run directories that travel: made in a folder of a worker, and whole where they belong."""

from pathlib import Path

from fairflac.reproduction.ray_executor import RunStore, changed_files, run_job_on_copy
from fairflac.reproduction.scheduler import run_job
from fairflac.runs.directory import Workspace
from small_runs import config


def test_a_run_and_its_bias_model(tmp_path: Path):
    """The bias model was made at home; away it is there, and not made again."""
    made, workspace, home = config("flac"), Workspace(tmp_path, tmp_path), RunStore(tmp_path)
    bias_model = made.stage_one()
    assert run_job(bias_model, workspace).status == "done"
    asked: list[tuple[object, ...]] = []

    def ask(*words: object):
        asked.append(words[:2])
        return getattr(home, str(words[0]))(*words[1:])

    assert run_job_on_copy(made, workspace, ask).status == "done"
    run = workspace.run(made)
    assert run.done and run.result["bias_model"] == workspace.run(bias_model).path.name and len(run.history) == 1
    assert not run.in_use and ("keep", bias_model.folder) not in asked
    left = {path.name for path in run.path.iterdir() if path.is_file()}
    assert left == {*changed_files(run.path, {}), "lock"}  # nothing half-written


def test_reasons_name_the_folder_at_home(tmp_path: Path):
    crashing = config().model_copy(update={"net_options": {"depth": 3}})
    home = RunStore(tmp_path)
    result = run_job_on_copy(
        crashing, Workspace(tmp_path, tmp_path), lambda method, *rest: getattr(home, method)(*rest)
    )
    log = tmp_path / crashing.folder / "worker.log"
    assert str(log) in result.reason and "TypeError" in log.read_text()


def test_in_use_at_home(tmp_path: Path):
    home, workspace = RunStore(tmp_path), Workspace(tmp_path, tmp_path)
    with workspace.run(config()).locked():
        result = run_job_on_copy(config(), workspace, lambda method, *rest: getattr(home, method)(*rest))
    assert result.status == "in use" and "in use by process" in result.reason


def test_only_what_is_new_and_the_marker_last(tmp_path: Path):
    for name in ("done", "last.pt", "best.pt", "result.json", "lock", "owner.json", ".last.pt.x"):
        (tmp_path / name).write_text("1")
    seen: dict[str, tuple[int, int]] = {}
    assert list(changed_files(tmp_path, seen)) == ["best.pt", "last.pt", "result.json", "done"]
    (tmp_path / "last.pt").write_text("22")
    assert changed_files(tmp_path, seen) == {"last.pt": b"22"}
    assert changed_files(tmp_path, seen) == {}
