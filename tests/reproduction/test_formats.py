import csv
import io
import json
from dataclasses import replace

import pytest

from fairflac.reproduction.plan import Cell, Filled, Head
from fairflac.reproduction.published import Value
from fairflac.reproduction.tables import as_csv, as_json, latex, markdown


def table(reduced=False):
    return Filled(
        name="table0",
        title="Table 0: a test",
        reduced=reduced,
        heads=(Head("q=0.9"), Head("gap", 3, lower_is_better=True)),
        rows={
            "Vanilla_1": (Cell((50.0, 52.0), Value(60.0, 0.5)), Cell((0.25,), Value(0.2))),
            "FLAC": (Cell((70.04,), Value(65.0)), Cell((), Value(0.1), "no data, 100 % of it")),
            "None": (Cell((), None, "the paper has no such run"), Cell((0.2,), None)),
        },
        notes=("what it is",),
    )


def test_markdown():
    lines = markdown(table()).splitlines()
    assert lines[0] == "### Table 0: a test"
    assert lines[2] == "| method | q=0.9 | paper | difference | gap | paper | difference |"
    # std of 50 and 52 over n - 1 is √2; lower gaps are better, in our column and in the paper's
    assert lines[4] == "| Vanilla_1 | 51.0 ± 1.4 (2) | 60.0 ± 0.5 | −9.0 | 0.250 (1) | 0.200 | +0.050 |"
    assert lines[5] == "| FLAC | **70.0** (1) | **65.0** | +5.0 | –<sup>a</sup> | **0.100** | – |"
    assert lines[6] == "| None | –<sup>b</sup> | – | – | **0.200** (1) | – | – |"
    assert lines[-3:] == ["- what it is", "- a: no data, 100 % of it", "- b: the paper has no such run"]


def test_a_reduced_scale_is_said_in_the_title_and_at_every_number_and_never_compared():
    text = markdown(table(reduced=True))
    assert "reduced scale" in text.splitlines()[0]
    assert "difference" not in text and "−9.0" not in text and "+5.0" not in text
    assert text.count(", cpu)") == 4  # as many as there are numbers of ours
    assert all(record["difference"] is None for record in table(reduced=True).records())


def test_latex_escapes_what_latex_would_read():
    text = latex(table())
    assert r"Vanilla\_1 & 51.0$\pm$1.4 (2) & 60.0$\pm$0.5 & $-$9.0" in text
    assert r"100 \% of it" in text
    assert r"\textbf{70.0} (1)" in text
    assert text.count(r"\\") == 4  # head and three rows
    odd = replace(table(), notes=(r"$HOME ~ a^b {c} d\e",))
    assert r"\$HOME \textasciitilde{} a\textasciicircum{}b \{c\} d\textbackslash{}e" in latex(odd)


def test_every_reason_has_a_mark_of_its_own():
    cells = {f"row {i}": (Cell((), None, f"reason {i}"), Cell((), None, "no data")) for i in range(30)}
    text = markdown(replace(table(), rows=cells))
    assert "- z: reason 24\n" in text and "- aa: reason 25\n" in text and "- ae: reason 29\n" in text
    assert "| row 29 | –<sup>ae</sup> |" in text


def test_programs_get_full_precision():
    records = list(csv.DictReader(io.StringIO(as_csv(table()))))
    assert len(records) == 6
    assert float(records[2]["mean"]) == 70.04 and records[0]["values"] == "50.0 52.0"
    cells = json.loads(as_json(table()))["cells"]
    assert cells[0]["difference"] == pytest.approx(-9.0) and cells[3]["missing"] == "no data, 100 % of it"
    assert cells[4]["paper_mean"] is None


def test_equal_to_the_eye_is_equally_bold():
    twins = Filled("t", "T", False, (Head("a"),), {"x": (Cell((50.01,), None),), "y": (Cell((50.02,), None),)}, ())
    assert markdown(twins).count("**50.0**") == 2
