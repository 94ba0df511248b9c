"""Promises about the source as a whole."""

import ast
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
