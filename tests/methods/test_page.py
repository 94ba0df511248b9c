"""The page of all methods."""

from pathlib import Path

import pytest

from fairflac.api.pages import methods_page
from fairflac.methods import METHODS
from fairflac.methods.base import describe

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_page_in_docs_is_up_to_date() -> None:
    assert PAGE.read_text() == methods_page(), "run: fairflac list methods --markdown > docs/methods.md"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_all_parts(name: str) -> None:
    parts = describe(METHODS[name])
    assert parts.headline.endswith(".") and parts.paper and parts.deviations
    assert (PAGE.parents[1] / "src" / f"{METHODS[name].__module__.replace('.', '/')}.py").is_file()
