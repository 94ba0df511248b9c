"""Pseudo-groups on the page: a hint where nothing better is known."""

from dataclasses import replace

import numpy as np

from fairflac.reporting.conclusions import pseudo_group_sentences
from fairflac.reporting.page import render
from reporting.hand_made import MakeRun, table

KNOWN = table(1.0, 0.5)
TRAINING = 80 * np.eye(4, dtype=int) + 5  # images by class and guess
GUESSED = replace(KNOWN, bias={}, aligned={}, guess=KNOWN.bias["hue"], guess_counts=TRAINING)


def test_only_where_the_attribute_is_not_known(make_run: MakeRun) -> None:
    assert pseudo_group_sentences({"flac": KNOWN, "vanilla": replace(GUESSED, guess=None)}) == []
    page = render([make_run("flac-b", GUESSED)])
    assert "pseudo-groups" in page and "flac-b is right on" in page
    assert "pseudo-groups" not in render([make_run("flac", KNOWN)])


def test_numbers_are_those_of_groups() -> None:
    """The guess is the hue, and each class has every hue equally often; in training it went with one."""
    (sentence,) = pseudo_group_sentences({"flac-b": GUESSED})
    assert "right on 100.0 % (95.5–100.0, n = 80)" in sentence and "on 50.0 % (" in sentence and "n = 240)" in sentence


def test_a_run_that_kept_no_training_guesses_says_nothing_of_them() -> None:
    assert pseudo_group_sentences({"flac-b": replace(GUESSED, guess_counts=None)}) == []
