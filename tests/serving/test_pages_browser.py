"""The list and the curves in a real browser: sorted, filtered, chosen, followed while a run trains."""

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser
from fairflac.runs.directory import Run
from fairflac.serving.server import Server
from reporting.hand_made import table, write_run

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for method, right in (("vanilla", 0.2), ("flac", 0.7), (EVIL, 0.4)):
        write_run(folder, method, table(1.0, right))
    running = write_run(folder, "lff", table(1.0, 0.2), history=epochs(2))
    (running.path / "done").unlink()
    running.owner.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
    return folder


def epochs(number: int) -> list[dict[str, object]]:
    return [{"epoch": n + 1, "loss": 1.5 - n / 10, "seconds": n + 1.0} for n in range(number)]


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    server = Server(root, port=0)
    with server.running():
        yield server.address


def methods(browser: Browser) -> list[str]:
    rows = "[...document.querySelectorAll('#runs tbody tr')].filter(row => row.checkVisibility())"
    found: list[str] = browser.run(f"{rows}.map(row => row.querySelector('a').textContent)")
    return found


def until(browser: Browser, fact: str) -> None:
    deadline = time.monotonic() + 30
    while not browser.run(fact):
        assert time.monotonic() < deadline, fact
        time.sleep(0.1)


def test_the_list_is_sorted_and_filtered_and_the_page_is_quiet(browser: Browser, address: str) -> None:
    browser.open(address)
    assert methods(browser)[0] == "lff" and len(methods(browser)) == 4  # what runs now comes first
    heading = "#runs thead th:nth-child(7)"
    assert browser.run(f"document.querySelector('{heading}').innerText").startswith("unbiased")
    browser.click(f"{heading} button")
    assert methods(browser) == ["lff", "vanilla", EVIL, "flac"]
    browser.press("Enter")  # the button has the focus
    assert methods(browser) == ["flac", EVIL, "vanilla", "lff"]
    assert browser.run(f"document.querySelector('{heading}').ariaSort") == "descending"
    browser.press("/")
    assert browser.run("document.activeElement.id") == "filter"
    browser("Input.insertText", text="toy FL")
    assert methods(browser) == ["flac"] and browser.run("document.getElementById('count').innerText") == "1 of 4 runs"
    browser.run("filter.value = ''; state.value = 'running'; state.dispatchEvent(new Event('change'))")
    assert methods(browser) == ["lff"]
    assert browser.complaints() == []
    assert {one.split("/")[2] for one in browser.requested() if one.startswith("http")} == {address.split("/")[2]}
    assert browser.run("document.images.length") == 0  # a name that looks like an image is none


def test_two_are_compared(browser: Browser, address: str) -> None:
    browser.open(address)
    assert browser.run("document.getElementById('compare').disabled")
    for method in ("flac", "vanilla"):
        browser.click(f"#runs input[value*='/{method}/']")
    assert browser.run("document.getElementById('chosen').innerText") == "2 chosen"
    browser.events.clear()
    browser.click("#compare")
    until(browser, "location.pathname === '/compare' && document.readyState === 'complete'")
    assert "vanilla" in browser.run("document.body.innerText") and "flac" in browser.run("document.body.innerText")
    assert browser.complaints() == []


def test_what_trains_is_followed(browser: Browser, address: str, root: Path) -> None:
    (place,) = root.glob("toy/lff/*")
    browser.open(address)
    browser.click("#runs input[value*='/flac/']")
    browser.run("document.querySelector('#runs input:checked').focus()")
    Run(place).write_history(epochs(4))
    until(browser, "document.querySelector('.card').innerText.includes('epoch 4 of 7')")
    assert "epoch 4 of 7" in browser.run("document.querySelector('[data-state=running]').innerText")
    assert browser.run("document.activeElement.checked")  # focus and choice stay
    browser.click(".card")
    until(browser, "location.pathname.startsWith('/run/') && document.readyState === 'complete'")
    assert browser.run("document.querySelectorAll('.curves svg circle').length") >= 4
    browser.run("document.querySelectorAll('details')[1].open = true")
    Run(place).write_history(epochs(5))
    until(browser, "document.body.innerText.includes('epoch 5 of 7')")
    assert browser.run("document.querySelector('.curves svg').getAttribute('aria-label')").endswith("after epoch 5")
    assert browser.run("document.querySelectorAll('details')[1].open")  # what was unfolded stays so
    assert browser.complaints() == []


def test_phone_darkness_and_no_script(browser: Browser, address: str, tmp_path: Path) -> None:
    grounds = set()
    for dark in (False, True):
        browser.open(address, width=390, height=844, dark=dark)
        assert browser.run("document.documentElement.scrollWidth") <= 390
        grounds.add(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2
    browser.open(address, script=False)
    try:
        assert len(methods(browser)) == 4 and not browser.run("document.getElementById('filter').checkVisibility()")
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)
