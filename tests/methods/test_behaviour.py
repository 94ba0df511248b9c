"""A toy task with a planted shortcut, on which vanilla does not get one conflicting sample right."""

from pathlib import Path

import pytest
from lightning_fabric import Fabric

from toy import conflicting_accuracy


def test_vanilla_falls_for_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("vanilla", tmp_path, fabric) < 0.1


@pytest.mark.parametrize("name", ["flac", "flac-b"])  # their bias model knows the shade
def test_flac_does_not(name: str, fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy(name, tmp_path, fabric, alpha=100.0) > 0.9
