from pathlib import Path

import pytest


def beside(name: str) -> Path:
    path = Path(__file__).parents[3] / "shared" / "data" / name
    if not path.is_file():
        pytest.skip(f"{name} is not beside this checkout")
    return path


@pytest.fixture(scope="session")
def utkface_tar() -> Path:
    return beside("utkface-72px.tar")


@pytest.fixture(scope="session")
def fairface_tar() -> Path:
    return beside("fairface-72px.tar")
