"""Pseudo-groups: measured as groups are, and only where nothing better is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairflac.metrics import summary
from fairflac.metrics.pseudo import NAME, with_pseudo_groups
from fairflac.predictions import Predictions
from prediction_table import make

Y, GUESS, PREDICTION = [0, 0, 0, 0, 1, 1, 1], [2, 2, 2, 1, 1, 1, 2], [0, 0, 1, 1, 1, 1, 0]


def test_a_guess_goes_with_the_class_that_mostly_has_it(tmp_path: Path) -> None:
    unknown = replace(make(Y, Y, PREDICTION, attributes=0), guess=np.array(GUESS))
    unknown.save(tmp_path / "predictions.npz")
    table = with_pseudo_groups(Predictions.load(tmp_path / "predictions.npz"))
    assert table is not None
    assert table.aligned[NAME].tolist() == [True, True, True, False, True, True, False]
    numbers = summary(table)
    assert numbers["aligned"] == pytest.approx((2 / 3 + 1) / 2) and numbers["conflicting"] == 0


def test_a_known_attribute_needs_no_guess() -> None:
    assert with_pseudo_groups(replace(make(Y, Y, PREDICTION), guess=np.array(GUESS))) is None
    assert with_pseudo_groups(make(Y, Y, PREDICTION, attributes=0)) is None
