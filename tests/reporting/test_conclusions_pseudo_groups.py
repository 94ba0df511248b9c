"""Pseudo-groups on the page: a hint where nothing better is known."""

from dataclasses import replace

import numpy as np

from fairflac.reporting.page import render
from reporting.hand_made import MakeRun, table

KNOWN = table(1.0, 0.5)
TRAINING = 80 * np.eye(4, dtype=int) + 5  # images by class and guess
GUESSED = replace(KNOWN, bias={}, aligned={}, guess=KNOWN.bias["hue"], guess_counts=TRAINING)


def test_a_page_has_the_guesses_in_a_table_and_calls_them_a_hint(make_run: MakeRun) -> None:
    runs = [make_run("vanilla", replace(GUESSED, guess=None)), make_run("flac-b", GUESSED)]
    page = render(runs)
    assert "Beside the guesses" in page and "take\nthis as a hint, not as proof" in page
    assert 'data-label="right where it is wrong">50.0' in page and "Gain over vanilla, every group" in page
    assert ">guess <select" in page and "signs of leaning on a shortcut" in page
    assert "Beside the guesses" not in render([make_run("flac", KNOWN)])
