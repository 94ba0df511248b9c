import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from fairflac.nets.weights import imagenet_file
from fairflac.reproduction.plan import ColumnHead, plan
from fairflac.reproduction.published import PublishedValue, published
from fairflac.reproduction.tables import (
    COLUMNS,
    NOT_RUN,
    Cell,
    FilledTable,
    applicability,
    applicability_page,
    as_csv,
    as_json,
    fill_table,
    latex,
    markdown,
    result_on,
)
from fairflac.runs.directory import Run

ENV = {"cpu": "a CPU", "device": "cpu", "cores": 2, "precision": "32-true"}


def finish(runs: Path, config, **test: float) -> Run:
    """A run directory with nothing in it but what tables read."""
    run = Run(runs / config.folder)
    run.begin(config.to_toml(), ENV)
    result = {"selection": "last", "seconds": 60.0, "test": test}
    (run.path / "result.json").write_text(json.dumps(result))
    (run.path / "done").write_text("")
    return run


def test_means_over_the_seeds_that_are_there_and_reasons_for_the_others(tmp_path):
    grid = plan(published("table2"), "paper", only=["vanilla"], q=[0.99, 0.995], seeds=3)
    first, second = grid.rows["Vanilla (CE)"]
    for config, accuracy in zip(first.configs[:2], (0.90, 0.92), strict=True):
        finish(tmp_path, config, accuracy=accuracy)
    filled = fill_table(grid, tmp_path, {second.configs[0].folder: "no data", first.configs[2].folder: "diverged"})
    cell, empty = filled.rows["Vanilla (CE)"]
    assert cell.values == pytest.approx((90.0, 92.0)) and cell.std == pytest.approx(2**0.5)
    assert cell.missing == "1 of 3 seeds: diverged" and cell.published.mean == 90.8
    assert empty.values == () and empty.missing == "no data"
    assert filled.title.startswith("Table 2") and not filled.reduced
    assert any("2 runs, 120 s" in note or "2 runs, 2 min" in note for note in filled.notes)
    assert any("last epoch" in note for note in filled.notes)


def test_numbers_without_the_weights_that_the_paper_starts_from_are_marked(tmp_path):
    def filled() -> FilledTable:
        grid = plan(published("table4"), "paper", only=["flac", "flac-plus"], seeds=1, data=tmp_path)
        assert set(grid.rows) == {"FLAC (CE)", "FLAC (Con.)", "FLAC-plus (CE)"}
        finish(tmp_path, grid.rows["FLAC-plus (CE)"][0].configs[0], unbiased=0.9)
        return fill_table(grid, tmp_path)

    marked = filled()
    ours, nothing, *_ = marked.rows["FLAC-plus (CE)"]
    assert ours.from_scratch and ours.published is None and not nothing.from_scratch
    assert markdown(marked).count("ImageNet weights") == 1
    imagenet_file(tmp_path).parent.mkdir()
    imagenet_file(tmp_path).touch()
    assert "ImageNet weights" not in markdown(filled())


def test_shares_stay_shares_and_lower_can_be_better(tmp_path):
    grid = plan(published("table12"), "cpu", only=["vanilla"])
    slots = grid.rows["UTKFace (race): Vanilla (CE)"]
    finish(tmp_path, slots[0].configs[0], p_rule=0.639, error_rate_gap=0.367)
    filled = fill_table(grid, tmp_path)
    assert [cell.mean for cell in filled.rows["UTKFace (race): Vanilla (CE)"]] == [0.639, 0.367]
    assert filled.reduced
    assert filled.rows["UTKFace (age): Vanilla (CE)"][0].missing == NOT_RUN


def test_another_test_set_is_read_from_beside_the_result(tmp_path):
    grid = plan(published("table6"), "cpu", only=["vanilla"])
    (config,) = grid.configs()
    run = finish(tmp_path, config, accuracy=0.94, unbiased=0.92)
    assert [cell.mean for cell in fill_table(grid, tmp_path).rows["Vanilla (CE)"]] == [94.0, 92.0, None]
    result_on(run, "imagenet-a").write_text(json.dumps({"accuracy": 0.3}))
    assert [cell.mean for cell in fill_table(grid, tmp_path).rows["Vanilla (CE)"]] == [94.0, 92.0, 30.0]


def test_a_run_that_cannot_measure_it_leaves_a_gap(tmp_path):
    grid = plan(published("table4"), "cpu", only=["vanilla"])
    for config in grid.configs():
        finish(tmp_path, config, accuracy=0.9)
    cells = fill_table(grid, tmp_path).rows["Vanilla (CE)"]
    assert all(cell.mean is None for cell in cells)


def table(reduced=False):
    return FilledTable(
        name="table0",
        title="Table 0: a test",
        reduced=reduced,
        heads=(ColumnHead("q=0.9"), ColumnHead("gap", 3, lower_is_better=True)),
        rows={
            "Vanilla_1": (Cell((50.0, 52.0), PublishedValue(60.0, 0.5)), Cell((0.25,), PublishedValue(0.2))),
            "FLAC": (Cell((70.04,), PublishedValue(65.0)), Cell((), PublishedValue(0.1), "no data, 100 % of it")),
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
    twins = FilledTable(
        "t", "T", False, (ColumnHead("a"),), {"x": (Cell((50.01,), None),), "y": (Cell((50.02,), None),)}, ()
    )
    assert markdown(twins).count("**50.0**") == 2


def test_what_methods_declare_is_what_the_paper_says_of_flac():
    ticks = applicability()
    for row in published("table1").rows:
        if row.method:
            assert dict(zip(COLUMNS, ticks[row.method], strict=True)) == row.ticks


def test_methods_that_read_labels_need_them_in_d():
    ticks = applicability()
    assert ticks["di"] == (False, None, False)
    assert ticks["lff"] == (True, True, True)
    assert "| flac | ✓ | ✗ | ✗ |" in applicability_page()
