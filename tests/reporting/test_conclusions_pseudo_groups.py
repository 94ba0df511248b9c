"""Pseudo-groups on the page: a hint where nothing better is known."""

from dataclasses import replace

import numpy as np

from fairflac.reporting.conclusions import pseudo_group_sentences
from fairflac.reporting.page import render
from reporting.hand_made import MakeRun, table

KNOWN = table(1.0, 0.5)
TRAINING = 80 * np.eye(4, dtype=int) + 5  # images by class and guess
GUESSED = replace(KNOWN, bias={}, aligned={}, guess=KNOWN.bias["hue"], guess_counts=TRAINING)


def test_only_where_the_attribute_is_not_known() -> None:
    assert pseudo_group_sentences({"flac": KNOWN, "vanilla": replace(GUESSED, guess=None)}) == []


def test_a_page_has_the_guesses_in_a_table_and_calls_them_a_hint(make_run: MakeRun) -> None:
    runs = [make_run("vanilla", replace(GUESSED, guess=None)), make_run("flac-b", GUESSED)]
    page = render(runs)
    assert "Beside the guesses" in page and "take\nthis as a hint, not as proof" in page
    assert 'data-label="right where it is wrong">50.0' in page and "Gain over vanilla, every group" in page
    assert ">guess <select" in page and "signs of leaning on a shortcut" in page
    assert "Beside the guesses" not in render([make_run("flac", KNOWN)])


def test_numbers_are_those_of_groups() -> None:
    """The guess is the hue, and each class has every hue equally often; in training it went with one."""
    (sentence,) = pseudo_group_sentences({"flac-b": GUESSED})
    assert "right on 100.0 % (95.5–100.0, n = 80)" in sentence and "on 50.0 % (" in sentence and "n = 240)" in sentence


def test_a_run_that_kept_no_training_guesses_says_nothing_of_them() -> None:
    assert pseudo_group_sentences({"flac-b": replace(GUESSED, guess_counts=None)}) == []
