"""Promises about the source as a whole."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def top_level_imports(path: Path) -> set[str]:
    """Packages imported when the module is; those inside functions are lazy."""
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_torchvision(path: Path) -> None:
    assert "torchvision" not in top_level_imports(path)


def test_the_scan_sees_imports_and_forgives_lazy_ones(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("if True:\n    import torchvision.models\n")
    assert top_level_imports(module) == {"torchvision"}
    module.write_text("def f():\n    from torchvision import models\n")
    assert top_level_imports(module) == set()


def test_constraints_pin_everything_exactly_and_no_cuda() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
    assert all("==" in line for line in lines)
    names = {line.partition("==")[0].lower() for line in lines}
    assert "torch==2.13.0" in lines and not {name for name in names if "nvidia" in name or "vision" in name}


# From the ground up: a module imports from its own layer and from those above it in this list, never from one below.
LAYERS = (
    ("errors", "types"),
    ("system",),
    ("losses", "metrics"),
    ("nets", "data"),
    ("methods",),
    ("runs",),
    ("config",),
    ("training", "discovery"),
    ("inference", "exporting", "reporting"),
    ("debiasing", "discovering", "auditing", "tuning", "reproduction", "estimator", "serving"),
    ("api",),
    ("cli",),
)
LEVEL = {name: level for level, packages in enumerate(LAYERS) for name in packages}


def packages_imported(path: Path) -> set[str]:
    """Parts of fairflac that a module imports anywhere in it, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "fairflac":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairflac."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("fairflac.")}
    return found & LEVEL.keys()


def test_nothing_imports_upwards() -> None:
    package = ROOT / "src" / "fairflac"
    upwards = []
    for path in SOURCES:
        name = path.relative_to(package).parts[0].removesuffix(".py")
        if name not in ("__init__", "__main__"):
            upwards += [
                f"{path.relative_to(package)} → {one}" for one in packages_imported(path) if LEVEL[one] > LEVEL[name]
            ]
    assert upwards == []


def test_the_ground_floor() -> None:
    package = ROOT / "src" / "fairflac"
    assert {path.name for path in package.glob("*.py")} == {"__init__.py", "__main__.py", "errors.py", "types.py"}


def test_no_two_classes_share_a_name() -> None:
    """Who reads a name knows which class is meant; classes inside functions are left aside."""
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


PAGES = ("CONTRIBUTING.md", "docs/architecture.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    """From the root or from the package; NAME and DATASET stand for what a reader puts there."""
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", (ROOT / page).read_text()))
    named = {path for path in named if "NAME" not in path and "DATASET" not in path}
    places = (ROOT, ROOT / "src" / "fairflac")
    assert named and [path for path in sorted(named) if not any((place / path).exists() for place in places)] == []


def options_named(path: Path) -> list[str]:
    """Options of the command line in messages of errors; those of a command that is written out are no riddle."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "UserError":
            message = "".join(str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant))
            if re.search(r"(?<![\w-])--[a-z]", message) and not re.search("fairflac |in Python", message):
                found.append(f"{path.name}: {message}")
    return found


def test_errors_below_the_command_line_speak_to_users_of_python_too(tmp_path: Path) -> None:
    below = [path for path in SOURCES if "cli" not in path.parts]
    assert [line for path in below for line in options_named(path)] == []
    (tmp_path / "module.py").write_text('raise UserError(f"{x}: leave out --size {size}")')
    assert options_named(tmp_path / "module.py") == ["module.py: : leave out --size "]
