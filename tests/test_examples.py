"""The examples: scripts that run, and notebooks that are made from them."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


notebooks = load(ROOT / "docs" / "tools" / "notebooks.py")


def test_there_are_three() -> None:
    assert [script.stem for script in SCRIPTS] == ["own_loop", "own_method", "photo_folder"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_notebook_is_that_of_the_script(script: Path) -> None:
    notebook = json.loads(script.with_suffix(".ipynb").read_text())
    cells = notebook["cells"]
    made = notebooks.cells(script.read_text())
    again = f"run: python docs/tools/notebooks.py {script.stem}"
    assert [(one["cell_type"], one["source"]) for one in cells] == [(m["cell_type"], m["source"]) for m in made], again
    code = [one for one in cells if one["cell_type"] == "code"]
    assert [one["execution_count"] for one in code] == [*range(1, len(code) + 1)] and any(o["outputs"] for o in code)
    assert str(ROOT) not in json.dumps(notebook) and "Traceback" not in json.dumps(notebook)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_plugins: None) -> None:
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRFLAC_QUICK", "1")
    monkeypatch.setenv("FAIRFLAC_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("short_guesses", "workplace")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_runs(script: Path) -> None:
    cells = notebooks.run(notebooks.cells(script.read_text()), script.name)
    printed = "".join(line for cell in cells for output in cell.get("outputs", []) for line in output.get("text", []))
    expected = {"own_loop": "of the test digits are right", "own_method": "doubted", "photo_folder": "other place"}
    assert expected[script.stem] in printed
