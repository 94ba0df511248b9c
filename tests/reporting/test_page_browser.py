"""The page in a real browser, without a network: sorted, clicked, read by keyboard, and photographed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, chromium
from fairflac.reporting.page import write
from reporting.hand_made import MakeRun, gallery, table

EVIL_CLASS, EVIL_FILE = "<img src=x onerror=alert(1)>", "photo {}</script><script>alert(2)</script>.png"
NAMES = {"classes": [EVIL_CLASS, "bee", "cow", "dog"], "attributes": {"hue": ["red", "green", "blue", "grey"]}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    if executable is None:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with Browser(executable) as started:
        yield started


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
    script = """[...document.querySelectorAll(".gallery .model")].map(model =>
        [...model.querySelectorAll(".image")].map(image => image.getAttribute("aria-label")))"""
    names: list[list[str]] = browser.run(script)
    return names


def expected(page: Path, query: int) -> list[list[str]]:
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page.read_text(), flags=re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return [[data["thumbnails"][k][2] for k in model[query]] for model in data["neighbours"]]


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
    assert browser.run("document.querySelector('.query .name').textContent") == EVIL_FILE.format(0)
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_a_table_is_sorted(browser: Browser, page: Path) -> None:
    browser.open(page)
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


def test_another_query_has_other_neighbours(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert shown(browser) == expected(page, 0)
    browser.click(".queries button:nth-child(40)")
    assert shown(browser) == expected(page, 39) != expected(page, 0)
    assert browser.run("document.querySelectorAll('.queries [aria-pressed=true]').length") == 1
    browser.press("ArrowRight")
    assert shown(browser) == expected(page, 39)  # the focus has moved, the choice has not
    browser.press("Enter")
    assert shown(browser) == expected(page, 40) != expected(page, 39)
    shared = browser.run(
        "[...document.querySelectorAll('.gallery .model')].map(m => m.querySelector('.count').innerText)"
    )
    borders = browser.run(
        "[...document.querySelectorAll('.gallery .model')].map(m => m.querySelectorAll('.same-class').length)"
    )
    signs = browser.run(
        "[...document.querySelectorAll('.gallery .model')].map(m => (m.innerText.match(/= /g) || []).length)"
    )
    assert [int(count) for count in shared] == borders and all(signs)
    assert browser.run("[...document.querySelectorAll('.queries button')].filter(b => b.tabIndex === 0).length") == 1
    assert browser.complaints() == []


def test_without_scripts_the_first_query_is_there(browser: Browser, page: Path) -> None:
    browser.open(page, script=False)
    try:
        assert shown(browser) == expected(page, 0)
        assert browser.run("document.querySelector('.queries').checkVisibility()") is False
        assert browser.run("document.querySelector('table.groups thead').innerText").split() == [
            *("class", "hue", "go", "together", "n", "vanilla", "flac")
        ]
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)


def test_phone_darkness_and_paper(browser: Browser, page: Path, tmp_path: Path) -> None:
    grounds = set()
    for dark in (False, True):
        browser.open(page, width=390, height=844, dark=dark)
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.run("[...document.querySelectorAll('.scrolls img')].every(i => i.offsetWidth > 600)")
        grounds.add(browser.run("getComputedStyle(document.body).backgroundColor"))
        browser.screenshot(tmp_path / f"phone-{dark}.png")
    assert len(grounds) == 2
    assert browser.pdf().startswith(b"%PDF")
