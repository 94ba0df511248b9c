"""`fairflac figures`: what it writes, what it says about the rest, what it refuses."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairflac.cli import main
from fairflac.reporting.figures import NAMES, _endings
from reporting.hand_made import photos, table, write_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A vanilla run, a FLAC run and a bias model, small enough to be drawn quickly."""
    few, kept = np.arange(0, 320, 8), photos(np.arange(40))
    root = tmp_path / "runs"
    for method, share in (("vanilla", 0.1), ("flac", 0.9)):
        history = [{"epoch": 1, "loss": 1.0, **({"pairs": 5.0} if method == "flac" else {})}]
        numbers = table(1.0, share).take(few)
        numbers.index[:] = np.arange(len(few))
        write_run(root, method, numbers, gallery=kept, history=history)
    write_run(root, "vanilla", table(1, 1, attributes=()), run_id="b1a5", target="hue")
    return root


def call(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["fairflac", "figures", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_writes_what_applies_and_says_why_the_rest_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: Path, tmp_path: Path
) -> None:
    assert call(monkeypatch, runs, "-o", tmp_path / "out") == 0
    drawn = [name for name in NAMES if name != "pairs-per-batch"]
    paths = [tmp_path / "out" / f"{name}.{kind}" for name in drawn for kind in ("png", "svg")]
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == [str(path) for path in paths]
    assert last.startswith("pairs-per-batch: not drawn, none of these runs has counted pairs in S")
    assert sorted((tmp_path / "out").iterdir()) == sorted(paths)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[::2])
    assert all(b"<svg" in path.read_bytes()[:1000] for path in paths[1::2])


def test_torch_is_never_imported_and_only_is_obeyed(runs: Path, tmp_path: Path) -> None:
    script = "import sys\nfrom fairflac.cli import main\ntry:\n    main()\nfinally:\n    print('torch' in sys.modules)"
    words = ["figures", str(runs), "-o", str(tmp_path), "--only", "training-curves", "--only", "feature-map"]
    answer = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    *lines, torch = answer.stdout.splitlines()
    assert torch == "False" and not answer.stderr
    assert [Path(line).name for line in lines] == [
        *("training-curves.png", "training-curves.svg", "feature-map.png", "feature-map.svg")
    ]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["RUNS/nowhere"], ["there is no folder"]),
        (["RUNS/empty"], ["no finished run in it"]),
        (["RUNS/toy/vanilla/b1a5-s0"], ["nothing to draw"]),
        (["RUNS", "--only", "feature-mop"], ["unknown figure 'feature-mop'", "did you mean 'feature-map'?"]),
        (["RUNS", "--only", "pairs-per-batch"], ["no figure could be drawn"]),
    ],
)
def test_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: Path,
    tmp_path: Path,
    words: list[str],
    parts: list[str],
) -> None:
    (runs / "empty").mkdir()
    assert call(monkeypatch, *(word.replace("RUNS", str(runs)) for word in words), "-o", tmp_path / "out") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fairflac: ") and all(part in line for part in parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["metrics.jsonl", "gallery.npz", "predictions.npz"])
def test_a_damaged_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: Path, tmp_path: Path, name: str
) -> None:
    (runs / "toy" / "flac" / "0123456789-s0" / name).write_bytes(b"{")
    figure = "training-curves" if name == "metrics.jsonl" else "nearest-neighbours"
    assert call(monkeypatch, runs, "-o", tmp_path / "out", "--only", figure) == 2
    assert f"{name}' is damaged" in capsys.readouterr().err


def test_files_of_several_datasets_have_their_own_names() -> None:
    assert _endings(["toy, q = 0.9"]) == [""]
    assert _endings(["toy, q = 0.9", "toy, q = 0.99"]) == ["-toy-q-0.9", "-toy-q-0.99"]
    long = "folder, path = /" + "x" * 100
    endings = _endings([long + "1", long + "2", long + "3"])
    assert len(set(endings)) == 3 and all(len(ending) < 70 and "/" not in ending for ending in endings)
