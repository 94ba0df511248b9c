"""`import fairflac` offers everything that users need, at once and without torch."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import fairflac
from fairflac import losses
from fairflac.api.pages import FUNCTIONS, GROUPS, api_page
from fairflac.config.options import REGISTRIES, registered, training_options


def test_importing_it_brings_no_torch_and_names_everything() -> None:
    script = (
        "import sys, fairflac; fairflac.train, fairflac.debias, fairflac.reproduce, fairflac.Workspace; "
        "print('torch' in sys.modules, {*fairflac.__all__} <= {*dir(fairflac)})"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "False True\n"


@pytest.mark.parametrize("name", fairflac.__all__)
def test_every_name_is_there_and_explained(name: str) -> None:
    thing = getattr(fairflac, name)
    assert name == "__version__" or inspect.getdoc(thing)
    module = fairflac._MODULES.get(name, "losses")
    assert name == "__version__" or getattr(importlib.import_module(f"fairflac.{module}"), name) is thing


def test_every_loss_is_offered() -> None:
    assert {*fairflac.__all__} == {*losses.__all__, *fairflac._MODULES, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fairflac.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", [*FUNCTIONS, *GROUPS["Classes"]])
def test_every_argument_is_explained(name: str) -> None:
    text = inspect.getdoc(getattr(fairflac, name)) or ""
    assert "Example:\n" in text and ("Returns:\n" in text or name not in FUNCTIONS)
    for argument in inspect.signature(getattr(fairflac, name)).parameters:
        assert f"\n    {argument}: " in text, argument


def test_no_setting_has_the_name_of_an_argument_of_train() -> None:
    own = {name for name in inspect.signature(fairflac.train).parameters if name != "settings"}
    options = {option for kind in REGISTRIES for thing in registered(kind).values() for option in thing.options}
    assert not own & {*options, *training_options().options}


def test_the_page_in_docs_is_up_to_date() -> None:
    page = Path(__file__).parents[1] / "docs" / "api.md"
    assert page.read_text() == api_page(), "run: fairflac list api --markdown > docs/api.md"
    assert {name for names in GROUPS.values() for name in names} == {*fairflac.__all__} - {"__version__"}
