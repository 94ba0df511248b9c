"""The page in a real browser, without a network: sorted, clicked, read by keyboard, and photographed."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import Browser
from fairflac.reporting.page import write
from reporting.hand_made import MakeRun, gallery, table

EVIL_CLASS, EVIL_FILE = "<img src=x onerror=alert(1)>", "photo {}</script><script>alert(2)</script>.png"
NAMES = {"classes": [EVIL_CLASS, "bee", "cow", "dog"], "attributes": {"hue": ["red", "green", "blue", "grey"]}}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "report.html"


@pytest.fixture
def page(make_run: MakeRun, path: Path) -> Path:
    """Made once: no test changes it."""
    if path.exists():
        return path
    runs = []
    for method, predictions in {"vanilla": table(1.0, 0.2), "flac": table(0.9, 0.7)}.items():
        runs.append(make_run(method, predictions, gallery=gallery(predictions, names=EVIL_FILE), results=NAMES))
    write(runs, path)
    return path


def shown(browser: Browser) -> list[list[str]]:
    """Per model, the names of the neighbours on the screen."""
    script = """[...document.querySelectorAll(".explorer .model")].map(model =>
        [...model.querySelectorAll(".image")].map(image => image.title.split(", ").at(-1)))"""
    names: list[list[str]] = browser.run(script)
    return names


def told(page: Path) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page.read_text(), flags=re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return data


def unpacked(text: str) -> list[int]:
    numbers: list[int] = np.frombuffer(base64.b64decode(text), dtype="<u2").tolist()
    return numbers


def expected(page: Path, point: int) -> list[list[str]]:
    data = told(page)
    found = []
    for model in data["models"]:
        near, count = unpacked(model["near"]), model["count"]
        found.append([data["names"][place] for place in near[point * count : (point + 1) * count]])
    return found


def chosen(browser: Browser) -> str:
    words: str = browser.run("document.querySelector('.explorer .about').innerText.replace(/\\s+/g, ' ')")
    return words


def select(browser: Browser, kind: str, value: str) -> None:
    browser.run(
        f"(e => {{ e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); }})"
        f"(document.querySelector('[data-filter={kind}]'))"
    )


def column(browser: Browser, number: int) -> list[float]:
    values: list[float] = browser.run(
        f"[...document.querySelector('table.groups').tBodies[0].rows].map(r => +r.cells[{number}].dataset.value)"
    )
    return values


def test_the_page_is_whole_and_quiet_and_names_stay_text(browser: Browser, page: Path, tmp_path: Path) -> None:
    browser.open(page)
    assert browser.complaints() == []
    assert {address.partition(":")[0] for address in browser.requested()} == {"file", "data"}
    assert not any(event["method"] == "Page.javascriptDialogOpening" for event in browser.events)
    figures = browser.run("document.querySelectorAll('figure img').length")
    assert browser.run("document.images.length") == figures >= 2  # a class that looks like an image is none
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.querySelector('table.groups tbody th').textContent") == EVIL_CLASS
    assert browser.run("document.querySelector('.query .name').textContent") in told(page)["names"]
    assert EVIL_FILE.format(0) in told(page)["names"]
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_a_table_is_sorted(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    before = column(browser, 4)
    heading = "table.groups thead th:nth-child(5)"
    assert browser.run(f"document.querySelector('{heading}').ariaSort") == "none"
    browser.click(f"{heading} button")
    assert column(browser, 4) == sorted(before) != before
    assert browser.run(f"document.querySelector('{heading}').ariaSort") == "ascending"
    browser.press("Enter")  # the button has the focus
    assert column(browser, 4) == sorted(before, reverse=True)
    assert browser.run(f"document.querySelector('{heading}').ariaSort") == "descending"
    browser.click("table.groups thead th:nth-child(1) button")
    assert browser.run(f"document.querySelector('{heading}').ariaSort") == "none"
    first = browser.run(
        "[...document.querySelectorAll('table.groups')[0].tBodies[0].rows].map(r => r.cells[0].innerText)"
    )
    assert first[0] == EVIL_CLASS and first[-1] == "dog"
    assert browser.complaints() == []


def test_another_image_has_other_neighbours(browser: Browser, page: Path) -> None:
    browser.open(page)
    start = told(page)["start"]
    assert shown(browser) == expected(page, start)
    browser.click(".queries button:nth-child(40)")
    point = int(browser.run("document.querySelector('.queries [aria-pressed=true]').dataset.point"))
    assert shown(browser) == expected(page, point) != expected(page, start)
    browser.press("ArrowRight")
    assert shown(browser) == expected(page, point)  # the focus has moved, the choice has not
    browser.press("Enter")
    other = int(browser.run("document.querySelector('.queries [aria-pressed=true]').dataset.point"))
    assert other != point and shown(browser) == expected(page, other)
    shared = browser.run(
        "[...document.querySelectorAll('.explorer .model')].map(m => m.querySelector('.count').innerText)"
    )
    borders = browser.run(
        "[...document.querySelectorAll('.explorer .model')].map(m => m.querySelectorAll('.same-class').length)"
    )
    signs = browser.run(
        "[...document.querySelectorAll('.explorer .model')].map(m => (m.innerText.match(/= /g) || []).length)"
    )
    assert [int(count) for count in shared] == borders and all(signs)
    assert browser.run("[...document.querySelectorAll('.queries button')].filter(b => b.tabIndex === 0).length") == 1
    assert browser.complaints() == []


def test_a_point_of_a_map_is_pressed(browser: Browser, page: Path) -> None:
    """Where the first image of the last class lies: its class, group and the answers of both models are shown."""
    browser.open(page)
    data = told(page)
    point = next(k for k, y in enumerate(unpacked(data["y"])) if y == 3)
    x, y = (unpacked(data["models"][1][axis])[point] / 65535 for axis in "xy")
    left, top, width, height = browser.run(
        "(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
        " return [b.x + e.clientLeft, b.y + e.clientTop, e.clientWidth, e.clientHeight]; })"
        "(document.querySelectorAll('.maps canvas')[1])"
    )
    spot = {"x": left + 14 + x * (width - 28), "y": top + 14 + y * (height - 28)}
    browser("Input.dispatchMouseEvent", type="mouseMoved", **spot)
    below = "document.querySelector('.hovered')"
    assert browser.run(f"{below}.hidden") is False and "dog" in browser.run(f"{below}.title")
    for kind in ("mousePressed", "mouseReleased"):
        browser("Input.dispatchMouseEvent", type=kind, **spot, button="left", clickCount=1)
    words = chosen(browser)
    assert "class dog, hue " in words and words.count("vanilla “") == words.count("flac “") == 1
    assert browser.complaints() == []


def test_filters_leave_images_of_a_kind(browser: Browser, page: Path) -> None:
    browser.open(page)

    def found() -> int:
        return int(browser.run("parseInt(document.querySelector('.found').textContent.replace(',', ''))"))

    assert found() == 320
    select(browser, "class", "3")
    assert found() == 80 and "class dog" in chosen(browser)
    select(browser, "group", "against")
    assert found() == 60 and "grey" not in chosen(browser)  # the hue that goes with it
    select(browser, "answer", "wrong-0")
    assert found() == 48  # four of five
    select(browser, "answer", "mended-1")
    assert found() == 30 and "✗ vanilla" in chosen(browser) and "✓ flac “dog”" in chosen(browser)
    select(browser, "answer", "lost-1")
    assert found() == 0
    select(browser, "answer", "")
    select(browser, "group", "1")
    assert found() == 20 and "hue green" in chosen(browser)
    before = browser.run("document.querySelector('.maps canvas').toDataURL()")
    select(browser, "colour", "group")
    assert browser.run("document.querySelector('.maps canvas').toDataURL()") != before
    assert browser.run("document.querySelector('.legend').innerText").split() == ["red", "green", "blue", "grey"]
    browser.click(".zoom")
    assert browser.run("document.querySelector('.zoom').ariaPressed") == "true"
    assert browser.complaints() == []


def test_a_map_is_walked_with_the_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelector('.maps canvas').focus()")
    start, walked = chosen(browser), set()
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown"):
        browser.press(key)
        walked.add(chosen(browser))
    assert len(walked - {start}) >= 2
    assert browser.run("document.querySelector('.explorer .about').ariaLive") == "polite"  # it is read aloud
    assert browser.complaints() == []


def test_without_scripts_one_image_and_its_neighbours_are_there(browser: Browser, page: Path) -> None:
    browser.open(page, script=False)
    try:
        assert shown(browser) == expected(page, told(page)["start"])
        for part in (".queries", ".maps", ".filters"):
            assert browser.run(f"document.querySelector('{part}').checkVisibility()") is False
        assert browser.run("[...document.querySelectorAll('table.groups th')].slice(0, 7).map(e => e.textContent)") == [
            *("class", "hue", "go together", "n", "vanilla", "flac", EVIL_CLASS)
        ]
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)


def test_the_first_screen_has_the_verdict_and_the_picture(browser: Browser, page: Path) -> None:
    for width, height in ((1280, 800), (390, 844)):
        browser.open(page, width=width, height=height)
        for part in (".verdict", ".bars"):
            assert 0 < browser.run(f"document.querySelector('{part}').getBoundingClientRect().bottom") < height
        widths = browser.run("[...document.querySelectorAll('.picture .fill')].map(e => e.offsetWidth)")
        assert widths == sorted(widths, reverse=True)[:1] + widths[1:] and widths[1] < widths[3] < widths[2] < widths[0]


def test_folds_open_on_paper(browser: Browser, page: Path) -> None:
    browser.open(page)
    closed = "document.querySelectorAll('details:not([open])').length"
    before = browser.run(closed)
    assert before > 5
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(closed) == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(closed) == before


def test_phone_darkness_and_paper(browser: Browser, page: Path, tmp_path: Path) -> None:
    grounds = set()
    for dark in (False, True):
        browser.open(page, width=390, height=844, dark=dark)
        browser.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert browser.run("document.documentElement.scrollWidth") <= 390
        tables = "[...document.querySelectorAll('.scroll')].filter(e => e.querySelector('table:not(.matrix)'))"
        cut = browser.run(f"{tables}.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)")
        assert cut == []  # only a matrix is wider than the screen
        assert browser.run("[...document.querySelectorAll('.scrolls img')].every(i => i.offsetWidth > 600)")
        grounds.add(browser.run("getComputedStyle(document.body).backgroundColor"))
        browser.screenshot(tmp_path / f"phone-{dark}.png")
    assert len(grounds) == 2
    assert browser.pdf().startswith(b"%PDF")
