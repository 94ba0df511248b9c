import pytest

import small_runs
from fairflac.runs import Run
from fairflac.train import Place, train


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real one, of a second."""
    place = tmp_path_factory.mktemp("runs")
    run = train(small_runs.config(), Place(place, place, silent=True))
    assert run is not None
    return run
