"""Small finished runs made by hand."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reporting.hand_made import MakeRun, write_run


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    return partial(write_run, tmp_path / "runs")


@pytest.fixture(scope="session")
def bias_model() -> dict[str, Any]:
    """The stage 1 of FLAC: the attribute, learnt from other data."""
    return {"dataset": "toy", "method": "vanilla", "target": "hue", "data_options": {"q": 0.25}}
