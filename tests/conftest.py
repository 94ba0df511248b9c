from pathlib import Path

import pytest
from lightning_fabric import Fabric

from fairflac.engine import make_fabric


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    return make_fabric("32-true")


@pytest.fixture(scope="session")
def mnist_folder() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "data" / "mnist"
    if not folder.is_dir():
        pytest.skip("the MNIST files are not beside this checkout")
    return folder
