from pathlib import Path

import pytest
from lightning_fabric import Fabric

from fairflac.bf16 import keep_clear_of_broken_amx
from fairflac.engine import make_fabric
from program import program  # noqa: F401 (a fixture)
from trained_runs import folder_run, photos, tiny_run  # noqa: F401 (fixtures)

keep_clear_of_broken_amx()


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    return make_fabric("32-true")


@pytest.fixture(autouse=True)
def small_feature_maps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page takes seconds for its map of all test images, and dozens of tests make a page."""
    if not request.node.get_closest_marker("full_size"):
        monkeypatch.setattr("fairflac.report.figures.feature_map.MOST_POINTS", 60)
        monkeypatch.setattr("fairflac.report.figures.feature_map.STEPS", 250)  # the least there is


@pytest.fixture(scope="session")
def mnist_folder() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "data" / "mnist"
    if not folder.is_dir():
        pytest.skip("the MNIST files are not beside this checkout")
    return folder
