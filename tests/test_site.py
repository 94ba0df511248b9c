"""The documentation as a site: it builds without a broken link, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from browser import Browser
from fairflac.cli import app

ROOT = Path(__file__).parents[1]
USERS = ("practitioner", "researcher", "engineer")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: mkdocs ends with an error where a link or an anchor leads nowhere, or a page is in no menu."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    plain = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}  # without the light imports
    answer = subprocess.run(words, cwd=ROOT, env=plain, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return folder


class Loads(HTMLParser):
    """What a browser fetches for a page by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(given.get("href") or "")
        elif tag != "a":
            self.found += [given.get("src") or "", given.get("srcset") or "", given.get("data") or ""]


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        loads = Loads(page.read_text()).found
        assert [one for one in loads if re.match(r"(https?:)?//", one)] == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text()), sheet
    assert Loads('<img src="https://x.org/a.png"><a href="https://x.org">').found[0] == "https://x.org/a.png"


def test_every_user_has_a_page_and_every_notebook(site: Path) -> None:
    home = (site / "index.html").read_text()
    assert all((site / f"{user}.html").is_file() and f'"{user}.html"' in home for user in USERS)
    for script in (ROOT / "examples").glob("*.py"):
        page = (site / "examples" / f"{script.stem}.html").read_text()
        assert "data:image/png" in page or script.stem == "own_method"
        assert 'class="output' in page


def test_sentences_of_output_may_be_broken_and_lines_of_tables_may_not(site: Path) -> None:
    page = (site / "practitioner.html").read_text()
    assert '<span class="prose">flac is kept' in page and "</span>method    accuracy  seconds\n" in page


def test_every_command_is_there(site: Path) -> None:
    page = (site / "commands.html").read_text()
    names = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert names and all(f'id="fairflac-{name}"' in page for name in names)


def test_equations_need_no_script(site: Path) -> None:
    page = (site / "flac.html").read_text()
    assert page.count("<math") >= 8 and "arithmatex" not in page and r"\frac" not in page


@pytest.mark.parametrize("name", ["index", "flac", "results/table2-cpu", "examples/own_loop"])
def test_pages_open_from_disk_on_a_phone(site: Path, browser: Browser, name: str) -> None:
    browser.open(site / f"{name}.html", width=390, dark=True)
    assert browser.complaints() == []
    assert all(address.startswith(("file:", "data:")) for address in browser.requested())
    assert browser.run("document.documentElement.scrollWidth") <= 390  # wide tables scroll by themselves
    assert browser.run("document.body.dataset.mdColorScheme") == "slate"


def test_search_works_from_disk(site: Path, browser: Browser) -> None:
    browser.open(site / "results" / "demo.html")
    browser.click("[data-md-component=search-query]")
    for letter in "checkpoint":
        browser("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
        browser("Input.dispatchKeyEvent", type="keyUp", key=letter)
    links = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
    while not (found := browser.run(links)):  # however long that takes; pytest has a limit
        time.sleep(0.05)
    assert any("coming-from.html" in link for link in found)
