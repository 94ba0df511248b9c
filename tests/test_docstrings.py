"""Public losses and metrics are explained, and their examples run."""

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import fairflac
import fairflac.losses
import fairflac.metrics

PACKAGES = (fairflac.losses, fairflac.metrics)
MODULES = [
    importlib.import_module(found.name)
    for package in PACKAGES
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_run(module: ModuleType) -> None:
    assert doctest.testmod(module, extraglobs={"fairflac": fairflac}).failed == 0


@pytest.mark.parametrize("name", sorted(fairflac.losses.__all__))
def test_every_loss_has_arguments_and_an_example(name: str) -> None:
    loss = getattr(fairflac.losses, name)
    text = inspect.getdoc(loss) or ""
    called = loss.forward if isinstance(loss, type) else loss
    assert ">>> " in text and "Returns:\n" in (inspect.getdoc(called) or "")
    for argument in () if name == "DenseFLACLoss" else inspect.signature(loss).parameters:  # those of FLACLoss
        assert f"\n    {argument}: " in text, argument
