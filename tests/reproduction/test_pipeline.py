from fairflac.config.run_config import resolve
from fairflac.reproduction.pipeline import train_missing
from fairflac.runs.directory import Workspace


class Remembers:
    def __init__(self):
        self.keys = []

    def run(self, jobs, workspace, listener):
        self.keys = [job.key for job in jobs]
        return {}


def test_a_finished_run_needs_its_bias_model_no_more(tmp_path):
    done, missing = (resolve("biased-digits", "flac-b", seed) for seed in (0, 1))
    run = tmp_path / done.folder
    run.mkdir(parents=True)
    (run / "done").touch()
    executor = Remembers()
    assert train_missing("table", [done, missing], Workspace(tmp_path, tmp_path, silent=True), executor) == {}
    assert executor.keys == [missing.stage_one().folder, missing.folder]
    executor.keys = []
    train_missing("table", [done], Workspace(tmp_path, tmp_path, silent=True), executor)
    assert executor.keys == []  # not even asked
