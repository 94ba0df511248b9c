"""What scikit-learn asks of every classifier, on the path of embeddings. All of it applies."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairflac import FLACClassifier


# The checks train some hundred classifiers, on blobs with no shortcut in them, about which FLAC has something to say.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([FLACClassifier(epochs=8, settings={"bias_model.epochs": 1}, random_state=0)])
def test_scikit_learns_own_checks(estimator: FLACClassifier, check: Callable[[Any], None]) -> None:
    check(estimator)
