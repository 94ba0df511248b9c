"""The page: whole, quiet, with names that stay text."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from auditing.hand_made_audits import made_audit, made_shortcut, measured
from browser import Browser
from fairflac.auditing.page import MISTAKES, SUREST, render, surest_and_wrong, surest_with_the_guess, write
from fairflac.auditing.pipeline import SAME
from fairflac.auditing.several import SideBySide
from fairflac.auditing.text import as_json, as_text

TYPICAL_SHOWN = 3 * (6 + 4)  # of three classes, six as usual and the four otherwise
EVIL = "<img src=x onerror=alert(1)>"


def test_the_first_screen_is_an_answer_a_picture_and_three_images() -> None:
    page = render(made_audit(cue=0.8))
    order = ["Yes: it leans on the border.", "How often the model names", "What it is surest of", "Why do we say so?"]
    places = [page.index(part) for part in (*order, "<table")]
    assert places == sorted(places) and page.count('class="fill" style="width: 82.00%"') == 1
    assert "train it anew against it" in page and "A shortcut is something that" in page
    assert "No evidence of a shortcut was found." in render(made_audit())
    assert "These images cannot tell." in render(made_audit(against=3))


def test_every_number_has_its_range_and_n() -> None:
    page = render(made_audit(cue=0.8, attribute=True, gaps={"hue": measured(0.5)}))
    assert "80.0–84.0" in page and "n = 500" in page
    assert page.count("<table") == 4 and "Groups of class and hue" in page


def test_there_are_no_dashes_for_what_is_not_known() -> None:
    page = render(made_audit(against=0, lean=0.0))
    assert "where the guess is wrong" not in page and not re.search(r">\s*–\s*<", page) and "not measured" not in page
    assert "In threes" in render(made_audit(cue=0.8)) and "In threes" not in render(made_audit())


def test_the_images_it_is_surest_of_and_wrong() -> None:
    audit = made_audit()
    table = audit.table
    wrong = [row for row in np.argsort(-table.score) if table.prediction[row] != table.y[row]]
    assert surest_and_wrong(audit) == wrong[:SUREST]
    right = replace(audit, table=replace(table, prediction=table.y))
    assert "every image is named rightly" in render(right)


def test_two_models_stand_side_by_side() -> None:
    before = made_audit(cue=0.8, attribute=True, gaps={"hue": measured(0.5)})
    table = before.table
    after = replace(
        before,
        table=replace(table, prediction=np.where(np.arange(60) % 5 == 0, table.prediction, table.y)),
        gaps={"hue": measured(-0.02)},
        followed=[one._replace(difference=measured(0.0)) for one in before.followed],
    )
    page = render(SideBySide({EVIL: before, "after": after}, same_images=True))
    assert "Do these models lean on a shortcut?" in page and page.count('<figure class="bars">') == 1
    assert "Take after: it is right 80.0 points more often" in page and "after: no evidence of a shortcut" in page
    assert "image by image" in page and "&lt; 0.001" in page and EVIL not in page
    assert page.count('class="surest"') == 2
    apart = render(SideBySide({"a": before, "b": after}, same_images=False))
    assert "different images" in apart and "image by image</h2>" not in apart


def test_mistakes_that_both_make_the_surest_first() -> None:
    audit = made_audit()
    rows = surest_with_the_guess(audit)
    assert len(rows) == MISTAKES and (np.diff(audit.table.score[rows]) <= 0).all()
    assert (audit.table.prediction[rows] != audit.table.y[rows]).all()


def test_a_found_shortcut_in_pictures_numbers_and_names() -> None:
    audit = made_audit(found=(made_shortcut(0.5),), attribute=True)
    page, text = render(audit), as_text(audit)
    assert page.index("Yes: it leans on shortcut 1 (pictures below)") < page.index("<h2>Shortcut 1, found by linear")
    assert page.index("<h2>Shortcut 1, found by linear") < page.index("Does a simple cue change the answer?")
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


def test_names_do_not_command_a_terminal() -> None:
    text = as_text(made_audit(names=("\x1b[31mred\x1b[0m\r", "b\u202e", "c"), attribute=True, files="\x07{}.png"))
    assert "\N{REPLACEMENT CHARACTER}[31mred" in text and not set(text) & set("\x1b\r\x07\u202e")


def test_in_a_browser(tmp_path: Path, browser: Browser) -> None:
    found = made_audit(cue=0.8, names=(EVIL, "b", "c"), files='{}"><script>alert(2)</script>.png', attribute=True)
    found = replace(found, found=replace(found.found, shortcuts=(made_shortcut(0.5),)))
    write(found, tmp_path / "audit.html")
    for width, dark in ((1280, False), (390, True)):
        browser.open(tmp_path / "audit.html", width=width, dark=dark)
        assert browser.complaints() == [] and browser.run("document.scripts.length + document.images.length") == 1
        assert {address.partition(":")[0] for address in browser.requested()} == {"file", "data"}
        assert browser.run("document.documentElement.scrollWidth") <= width
        browser.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        cut = "[...document.querySelectorAll('.side, .side td, .bars')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert browser.run(f"{cut}.length") == 0  # no table has to be pushed aside
    assert browser.run("document.querySelectorAll('.image').length") == SUREST + 9 + MISTAKES + TYPICAL_SHOWN
    assert EVIL in browser.run("document.querySelector('.trio').textContent + document.body.textContent")


def test_the_first_screen_fits_and_paper_unfolds(tmp_path: Path, browser: Browser) -> None:
    write(made_audit(cue=0.8, attribute=True), tmp_path / "audit.html")
    browser.open(tmp_path / "audit.html")
    assert browser.run("document.querySelector('.surest').getBoundingClientRect().top") < 800
    assert browser.run("document.querySelectorAll('details:not([open])').length") > 2
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("document.querySelectorAll('details:not([open])').length") > 2
