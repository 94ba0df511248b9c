"""The page: well formed, whole in itself, true to its runs, and safe with any name."""

import ast
import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairflac.reporting
from fairflac.errors import UserError
from fairflac.reporting.page import render, write
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, gallery, table, write_run

NAMES = {"classes": ["ant", "bee", "cow", "dog"], "attributes": {"hue": ["red", "green", "blue", "grey"]}}
VOID = {"meta", "link", "img", "source", "br"}


class Page(HTMLParser):
    """Collects elements and text, and insists that every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(self.words.split())


def flac_and_vanilla(make_run: MakeRun, bias_model: dict[str, Any]) -> list[Run]:
    return [
        make_run("flac", table(0.95, 0.75), bias_model=bias_model, gallery=gallery(table(1, 1)), results=NAMES),
        make_run("vanilla", table(1.0, 1.0, attributes=()), run_id="fedcba9876", target="hue"),
        make_run("vanilla", table(1.0, 0.2), gallery=gallery(table(1, 1)), results=NAMES),
    ]


@pytest.fixture
def runs(make_run: MakeRun, bias_model: dict[str, Any]) -> list[Run]:
    """For a test that changes them."""
    return flac_and_vanilla(make_run, bias_model)


@pytest.fixture(scope="module")
def same_runs(tmp_path_factory: pytest.TempPathFactory, bias_model: dict[str, Any]) -> list[Run]:
    return flac_and_vanilla(partial(write_run, tmp_path_factory.mktemp("runs")), bias_model)


@pytest.fixture(scope="module")
def text(same_runs: list[Run]) -> str:
    return render(same_runs, "A title")


def test_page_needs_nothing_from_outside(text: str) -> None:
    page = Page(text)
    assert "http://" not in text and "https://" not in text
    addresses = [element.get(name) for _, element in page.elements for name in ("src", "srcset", "href")]
    assert all(address.startswith(("data:", "#")) for address in addresses if address)
    places = {element["id"] for _, element in page.elements if "id" in element}
    assert {address[1:] for address in addresses if address and address[0] == "#"} <= places
    drawings = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", text)
    assert len(drawings) >= 2
    for drawing in drawings:
        assert all(
            link.startswith((b"#", b"data:image/png"))
            for link in re.findall(rb'href="([^"]*)"', base64.b64decode(drawing))
        )


def test_page_runs_its_own_script_and_no_other(text: str) -> None:
    page = Page(text)
    (policy,) = [tag["content"] for tag in page.all("meta") if tag.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and "default-src 'none'" in policy
    ours, *data = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(ours.encode()).digest()).decode()
    assert not data and f"script-src 'sha256-{digest}'" in policy
    assert [tag.get("type") for tag in page.all("script")] == ["application/json", None]
    assert len(ours.encode()) < 300_000


def test_page_can_be_read_aloud(text: str) -> None:
    page = Page(text)
    assert len(page.all("img")) >= 4 and all(image["alt"] for image in page.all("img"))
    assert page.all("html")[0]["lang"] == "en-GB" and len(page.all("h1")) == 1
    assert len(page.all("caption")) == len(page.all("table")) == 9
    assert all(image["aria-label"] for image in page.all("span") if image.get("role") == "img")
    assert all(cell["scope"] in ("row", "col") for cell in page.all("th"))
    scrollable = [element for element in page.all("div") if (element.get("class") or "").startswith("scroll")]
    assert len(scrollable) == len(page.all("table")) + len(page.all("img"))
    assert all(canvas["tabindex"] == "0" and canvas["aria-label"] for canvas in page.all("canvas"))
    assert all(element["tabindex"] == "0" and element["aria-label"] for element in scrollable)


def test_page_tells_what_happened(text: str, same_runs: list[Run]) -> None:
    page = Page(text)
    for words in (
        "A title",
        "Yes: the ordinary model (vanilla) reads the hue. Training against it helps: where the hue misleads, 20 → 75 %",
        "The hue is a shortcut: it goes with the class in 90 % of the training images",
        "Use flac, not the ordinary model",
        "vanilla reads the hue hue goes with the class 100.0 % 95.5–100.0 hue misleads 20.0 %",  # the picture, read
        "Each model was trained once",
        "vanilla class 40.0 % 36.",  # the row of vanilla, with the lower end of its interval
        "n = 320 100.0 % 95.5–100.0 n = 80 20.0 %",
        "Gain over vanilla: flac +40.0 points",
        "Training took: vanilla 12 s; flac 12 s, and its bias model 12 s.",
        "ant green no 20 few 20.0 %",
        "Bias model of flac",
        "Does it name the hue of the training images rightly? 87.5 % all 25.0 %",
        "batches of 32 or less",
        "Sarridis",
        "device cpu, Abacus, 2 cores, precision 32-true",
        "toy/flac/0123456789-s0 result 0 7 last epoch 12.34 fedcba9876-s0",
        "toy/vanilla/fedcba9876-s0 bias model (hue)",
    ):
        assert words in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert str(same_runs[0].path.parents[2]) not in page.text


def test_page_without_attribute_claims_nothing(make_run: MakeRun) -> None:
    page = Page(render([make_run("vanilla", table(0.5, 0.5, attributes=()))], "A title"))
    assert "whether a model leans on one cannot be said" in page.text
    assert "is a shortcut:" not in page.text and "What the models look at" not in page.text
    assert "left out: the test images of toy have no label of an attribute" in page.text
    assert "Fairness measures" not in page.text and "Groups" not in page.text


def test_a_page_without_labels_shows_classes_before_and_after(make_run: MakeRun) -> None:
    unknown = [table(1.0, share, attributes=()) for share in (0.5, 0.9)]
    runs = [make_run(name, one, results=NAMES) for name, one in zip(("vanilla", "flac"), unknown, strict=True)]
    page = Page(render(runs, "A title")).text.replace("\N{NO-BREAK SPACE}", " ")
    assert page.index("ant n = 80 vanilla 62.5 %") < page.index("Look for yourself")
    assert page.count("ant n = 80 vanilla 62.5 %") == 1  # and not once more among the classes


def test_groups_that_were_found_stand_in_for_labels_of_the_shortcut(make_run: MakeRun) -> None:
    """The rule of the audit for found groups, also of two classes; and their picture is that of a known shortcut."""
    known = table(1.0, 0.4)
    known = known.take(np.flatnonzero((known.y < 2) & (known.bias["hue"] < 2)))
    guessed = replace(known.without_labels(), guess=known.bias["hue"], guess_counts=20 * np.eye(2, dtype=np.int64) + 1)
    two = {"classes": NAMES["classes"][:2], "attributes": {}}  # type: ignore[index]
    page = Page(render([make_run("vanilla", guessed, data_options={"groups": "groups.csv"}, results=two)])).text
    assert "Yes: the ordinary model (vanilla) leans on a shortcut." in page
    before = page[: page.index("Look for yourself")].replace("\N{NO-BREAK SPACE}", " ")
    assert "shortcut goes with the class 100.0 %" in before and "shortcut misleads 40.0 %" in before
    assert "No label says which images these are. Every image is in a group" in before


def test_what_was_kept_stands_beside_the_verdict_and_its_reasons_are_folded(make_run: MakeRun) -> None:
    text = render([make_run("vanilla", table(1.0, 0.2))], foreword=["flac is kept.", "It is better.", "By far."])
    page = Page(text)
    assert "flac is kept." in page.text and "Train against it" not in page.text  # one advice
    fold = text[text.index("<summary>Why this model was kept") :]
    assert fold.index("It is better.") < fold.index("By far.") < fold.index("</details>")


def test_no_column_of_dashes(make_run: MakeRun, bias_model: dict[str, Any], text: str) -> None:
    unknown = render([make_run("vanilla", table(1.0, 0.2, attributes=()))], "A title")
    for page in (text, unknown):
        for body in re.findall(r"<tbody>(.*?)</tbody>", page, flags=re.DOTALL):
            lines = [re.findall(r"<td[^>]*>(.*?)</td>", line, flags=re.DOTALL) for line in body.split("</tr>")[:-1]]
            assert not any(set(column) == {"–"} for column in zip(*lines, strict=True))


def test_page_has_a_part_for_each_dataset(make_run: MakeRun) -> None:
    runs = [
        make_run("vanilla", table(1.0, 0.1)),
        make_run("flac", table(1.0, 0.9), data_options={"q": 0.99}),
    ]
    page = Page(render(runs, "A title"))
    assert len(page.all("h2")) == 2 + 3  # what is common to both: provenance, caveats, citation
    assert "toy, q = 0.99" in page.text and "no vanilla model" in page.text and "helps" not in page.text


def test_page_without_pictures(runs: list[Run]) -> None:
    for run in runs:
        run.samples.unlink()
    assert "What the models saw" not in Page(render(runs, "A title")).text


def test_a_run_without_images_says_why(runs: list[Run]) -> None:
    runs[0].gallery.unlink()
    page = Page(render(runs, "A title"))
    assert "There are no images to show: flac kept none" in page.text and "surest of" not in page.text
    assert len(page.all("canvas")) == 2  # the maps need none


def test_models_that_saw_other_test_images_are_named(runs: list[Run], make_run: MakeRun) -> None:
    other = table(1.0, 0.9)
    other = replace(other, y=(other.y + 1) % 4)
    page = Page(render([*runs, make_run("lff", other, gallery=gallery(other))], "A title"))
    assert "Left out here: lff." in page.text


def test_names_cannot_break_the_page(make_run: MakeRun) -> None:
    bad = "<script>alert('x')</script>\"&"
    names = {"classes": [bad] * 4, "attributes": {bad.replace("/", ""): [bad] * 4}}
    predictions = table(1.0, 0.1, attributes=(bad.replace("/", ""),))
    kept = gallery(predictions, names=f"{{}}{bad}")
    run = make_run(f"m{bad}", predictions, dataset=bad, gallery=kept, results=names)
    text = render([run], bad)
    page = Page(text)
    assert len(page.all("script")) == 2 and "<script>alert('x')</script>" in page.text
    assert all("onerror" not in image and image["alt"] for image in page.all("img"))
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', text, flags=re.DOTALL)
    assert json.loads(data)["names"][0].endswith(bad)


def test_written_page_is_always_the_same(text: str, same_runs: list[Run], tmp_path: Path) -> None:
    write(same_runs, tmp_path / "new" / "report.html")
    once = (tmp_path / "new" / "report.html").read_text()
    assert once == text.replace("A title", "Does the model lean on a shortcut?")


def test_nothing_to_report(runs: list[Run]) -> None:
    with pytest.raises(UserError, match="nothing to report"):
        render(runs[1:2], "A title")


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_reports_know_nothing_of_training_or_windows() -> None:
    allowed = {"__version__", "errors", "metrics", "reporting", "runs", "system"}
    for file in Path(fairflac.reporting.__path__[0]).rglob("*.py"):
        for name in imports(file):
            package, *modules = name.split(".")
            assert package != "torch" and "pyplot" not in modules
            assert modules[:2] != ["system", "checkpoint"], "it imports torch"
            assert package != "fairflac" or modules[0] in allowed, f"{file.name} imports {name}"
