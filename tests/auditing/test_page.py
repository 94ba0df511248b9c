"""The page: whole, quiet, with names that stay text."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auditing.hand_made_audits import made_audit, made_shortcut, measured
from browser import Browser, chromium
from fairflac.auditing.page import MISTAKES, as_json, as_text, render, surest_with_the_guess, write
from fairflac.auditing.pipeline import SAME

TYPICAL_SHOWN = 3 * (6 + 4)  # of three classes, six as usual and the four otherwise
EVIL = "<img src=x onerror=alert(1)>"


def test_the_answer_comes_first() -> None:
    page = render(made_audit(cue=0.8))
    assert page.index("It leans on a shortcut: border.") < page.index("Why do we say so?") < page.index("<table")
    assert "There is no evidence of it." in render(made_audit())
    assert "These images cannot tell." in render(made_audit(against=3))


def test_every_number_has_its_range_and_n() -> None:
    page = render(made_audit(cue=0.8, attribute=True, gaps={"hue": measured(0.5)}))
    assert "80.0–84.0" in page and "n = 500" in page
    assert page.count("<table") == 3 and "Groups of class and hue" in page


def test_what_is_not_known_is_a_dash_and_images_are_shown_where_there_are_some() -> None:
    assert "–</td>" in render(made_audit(against=0))
    assert "In threes" in render(made_audit(cue=0.8)) and "In threes" not in render(made_audit())


def test_mistakes_that_both_make_the_surest_first() -> None:
    audit = made_audit()
    rows = surest_with_the_guess(audit)
    assert len(rows) == MISTAKES and (np.diff(audit.table.score[rows]) <= 0).all()
    assert (audit.table.prediction[rows] != audit.table.y[rows]).all()


def test_a_found_shortcut_in_pictures_numbers_and_names() -> None:
    audit = made_audit(found=(made_shortcut(0.5),), attribute=True)
    page, text = render(audit), as_text(audit)
    assert page.index("It leans on a shortcut: shortcut 1") < page.index("<h2>Shortcut 1, found by linear")
    assert page.index("<h2>Shortcut 1, found by linear") < page.index("<h2>Does it follow a simple cue?")
    assert page.count("Most typical of its usual value") == 3 and page.count("It follows shortcut 1") == 1
    # of 20 images of "a", the first 4 have the value of "b"
    assert '<th scope="row">a</th><td>16</td><td>4</td>' in page
    assert re.search(r"^a +16 +4$", text, flags=re.MULTILINE)
    assert "a: usually as image 57.png, image 54.png; otherwise as image 9.png, image 6.png" in text
    (found,) = as_json(audit)["discovery"]["shortcuts"]
    assert found["typical"]["a"] == {
        "usual": [f"image {row}.png" for row in range(57, 41, -3)],
        "other": [f"image {row}.png" for row in (9, 6, 3, 0)],
    }
    assert found["strength"] == "lean" and found["model"]["lean, the difference of the two"]["low"] == 0.5
    assert found["counts"] == [[18, 2], [2, 18], [18, 2]] and found["separation"]["value"] == 2.0


def test_what_the_bias_model_repeats_is_not_shown_twice() -> None:
    found = (made_shortcut(0.5),)
    same = made_audit(lean=0.9, unexplained=0.0, found=found)
    assert SAME in render(same) and SAME in as_text(same) and "Mistakes that both make" not in render(same)
    more = made_audit(lean=0.9, unexplained=0.5, found=found)
    assert SAME not in render(more) + as_text(more) and "Mistakes that both make" in render(more)


def test_in_a_browser(tmp_path: Path) -> None:
    executable = chromium()
    if executable is None:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    found = made_audit(cue=0.8, names=(EVIL, "b", "c"), files='{}"><script>alert(2)</script>.png', attribute=True)
    found = replace(found, found=replace(found.found, shortcuts=(made_shortcut(0.5),)))
    write(found, tmp_path / "audit.html")
    with Browser(executable) as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(tmp_path / "audit.html", width=width, dark=dark)
            assert browser.complaints() == [] and browser.run("document.scripts.length + document.images.length") == 0
            assert {address.partition(":")[0] for address in browser.requested()} == {"file", "data"}
            assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("document.querySelectorAll('.image').length") == 9 + MISTAKES + TYPICAL_SHOWN
        assert EVIL in browser.run("document.querySelector('.trio').textContent + document.body.textContent")
