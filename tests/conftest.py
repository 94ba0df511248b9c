import gc
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from lightning_fabric import Fabric

from browser import Browser, chromium
from fairflac.config import plugins
from fairflac.system.bf16 import keep_clear_of_broken_amx
from fairflac.training.engine import make_fabric
from fairflac.training.precision import VARIABLE
from program import program  # noqa: F401 (a fixture)
from small_runs import gate  # noqa: F401 (a fixture)
from trained_runs import folder_run, photos, tiny_run  # noqa: F401 (fixtures)

keep_clear_of_broken_amx()
# No test depends on what the CPU can do, in this process or in one that it starts: `auto` means fp32. Otherwise:
# FAIRFLAC_PRECISION=bf16-mixed make test, or FAIRFLAC_PRECISION=auto for what this machine would choose.
os.environ.setdefault(VARIABLE, "32-true")


# Files that start many processes. Begun first, none of them is left to one core at the end.
LONG = ("test_ray_executor.py", "test_local_executor.py", "test_progress.py", "test_readme.py", "test_debias.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)  # stable: all else stays in its order


def pytest_collection_finish() -> None:
    gc.freeze()  # a million objects that are here to stay; to look through them again takes half a second each time


@pytest.fixture(scope="session", autouse=True)
def light_imports() -> None:
    """For the processes that tests start as well; see the folder of that name."""
    folders = [str(Path(__file__).with_name("light_imports")), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(folders)


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    return make_fabric("32-true")


@pytest.fixture(params=["32-true", "bf16-mixed"])
def any_fabric(request: pytest.FixtureRequest) -> Fabric:
    """For what must hold in either precision. A CPU without bf16 emulates it, which is slow and all the same."""
    return make_fabric(request.param)


@pytest.fixture(scope="session", autouse=True)
def small_feature_maps() -> Iterator[pytest.MonkeyPatch]:
    """A page takes seconds for its map of all test images, and dozens of tests make a page."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield patch


def make_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("fairflac.reporting.figures.feature_map.MOST_POINTS", 60)
    patch.setattr("fairflac.reporting.figures.feature_map.STEPS", 250)  # the least there is


@pytest.fixture(autouse=True)
def full_size(request: pytest.FixtureRequest, small_feature_maps: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests that are marked so."""
    marked = request.node.get_closest_marker("full_size")
    if marked:
        small_feature_maps.undo()
    yield
    if marked:
        make_small(small_feature_maps)


@pytest.fixture
def own_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plug-ins that a test adds are forgotten afterwards."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(plugins, "_done", set())
    monkeypatch.setattr(plugins, "_plugged", {})
    registries = [getattr(import_module(package), group.upper()) for group, package in plugins.PACKAGES.items()]
    before = [dict(registry) for registry in registries]
    yield
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)


@pytest.fixture
def short_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """For audits that need no good bias model."""
    monkeypatch.setattr("fairflac.discovery.guesses.STEPS", 3)
    monkeypatch.setattr("fairflac.discovery.guesses.EPOCHS", 1)


@pytest.fixture(scope="session")
def mnist_folder() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "data" / "mnist"
    if not folder.is_dir():
        pytest.skip("the MNIST files are not beside this checkout")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    if executable is None:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with Browser(executable) as started:
        yield started
