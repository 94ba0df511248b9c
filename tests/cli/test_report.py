"""`fairflac report`, and the page at the end of `fairflac train`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairflac.cli import main
from fairflac.reporting import page as html
from fairflac.reporting.figures import feature_map
from fairflac.runs.directory import Run, find_runs

TINY = ["--set", "epochs=1", "--set", "channels=[2,2,2,2]", "--set", "kernel_size=3"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one tiny run, trained once for all tests here."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["train", "biased-digits", "vanilla", "--runs", folder, "--data", folder, *TINY]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairflac", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code
    return folder


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["fairflac", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_training_ends_with_a_page(runs: Path) -> None:
    (run,) = find_runs(runs)
    assert "biased-digits" in run.report.read_text()


def test_a_page_without_torch(runs: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom fairflac.cli import main\nfrom fairflac.reporting.figures import feature_map\n"
        f"feature_map.MOST_POINTS, feature_map.STEPS = {feature_map.MOST_POINTS}, {feature_map.STEPS}\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    (run,) = find_runs(runs)
    words = ["report", str(runs), str(run.path), "-o", str(tmp_path / "new" / "page.html")]  # the same run twice
    answer = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "False"
    assert answer.stdout.strip() == f"1 run in {tmp_path / 'new' / 'page.html'}"
    assert (tmp_path / "new" / "page.html").read_text() == run.report.read_text()


def test_the_page_is_in_this_folder_unless_told(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "report", runs) == 0
    assert (tmp_path / "report.html").is_file()


def test_mistakes_cost_one_line(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = find_runs(runs)
    (tmp_path / "empty").mkdir()
    stopped, broken = tmp_path / "stopped", tmp_path / "broken"
    for copy, victim in ((stopped, "done"), (broken, "result.json")):
        shutil.copytree(run.path, copy)
        (copy / victim).unlink()
    (broken / "result.json").write_text("{")
    for words, part in (
        ([tmp_path / "nowhere"], "there is no folder"),
        ([tmp_path / "empty"], "no finished run"),
        ([stopped], "is not finished"),
        ([broken], "damaged"),
        ([runs, "-o", tmp_path], "is a folder"),
        ([], "'runs'"),
    ):
        capsys.readouterr()
        assert call(monkeypatch, "report", *words) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("fairflac: ") and part in line.lower()


def test_a_page_that_fails_does_not_lose_the_run(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no ink")

    shutil.copytree(runs, tmp_path / "runs")
    (run,) = find_runs(tmp_path / "runs")
    words = ["train", "biased-digits", "vanilla", "--runs", tmp_path / "runs", "--data", tmp_path, *TINY]
    old = run.report.stat().st_mtime_ns
    assert call(monkeypatch, *words) == 0
    assert Run(run.path).report.stat().st_mtime_ns == old  # a page that is there is not made again
    run.report.unlink()
    monkeypatch.setattr(html, "write", fail)
    capsys.readouterr()
    assert call(monkeypatch, *words) == 0
    answer = capsys.readouterr()
    assert "no ink" in answer.err and "vanilla" in answer.out and "report:" not in answer.out
    assert run.done and not run.report.exists()
