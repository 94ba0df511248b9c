"""The table of results: numbers by hand, and what is shown when."""

import json
from dataclasses import replace

import pytest

from fairflac.errors import UserError
from fairflac.reporting.results import RunRow, rows
from fairflac.reporting.text import as_json, as_text
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, table

ROW = RunRow("vanilla", "toy", "toy, q = 0.9", "abc", 0, 0.45, 0.9, 0.3, 0.0, 0.5, 320, 12.34, "class")


def test_numbers_of_a_row(make_run: MakeRun) -> None:
    (row,) = rows([make_run("vanilla", table(aligned=0.9, conflicting=0.3))])
    assert (row.aligned, row.conflicting, row.worst_group) == pytest.approx((0.9, 0.3, 0.3))
    assert row.unbiased == pytest.approx((4 * 0.9 + 12 * 0.3) / 16)
    assert (row.method, row.dataset, row.data, row.run) == ("vanilla", "toy", "toy, q = 0.9", "0123456789")
    assert (row.seed, row.n, row.seconds) == (0, 320, 12.34)


def test_order_is_kept_and_bias_models_are_no_rows(make_run: MakeRun) -> None:
    numbers = table(0.9, 0.3)
    runs = [
        make_run("flac", numbers),
        make_run("vanilla", numbers, run_id="b1a5", target="hue"),
        make_run("vanilla", numbers),
    ]
    assert [row.method for row in rows(runs)] == ["flac", "vanilla"]


def test_what_a_run_began_with_is_shown_where_it_matters(make_run: MakeRun) -> None:
    numbers = table(0.9, 0.3)
    began = rows([make_run("vanilla", numbers, net_options={"weights": "imagenet"})])
    lacks = rows([make_run("flac", numbers, results={"from_scratch": True})])
    assert (began[0].start, lacks[0].start) == ("ImageNet", "scratch (!)")
    assert "scratch (!)" in as_text(lacks) and "starts from" in as_text(began + lacks)
    assert "starts from" not in as_text(rows([make_run("gce", numbers)]))


def test_unknown_attribute_leaves_only_accuracy(make_run: MakeRun) -> None:
    (row,) = rows([make_run("vanilla", table(0.5, 0.5, attributes=()))])
    assert row.accuracy == 0.5
    assert (row.unbiased, row.aligned, row.conflicting, row.worst_group) == (None, None, None, None)


def test_several_attributes_take_the_smallest(make_run: MakeRun) -> None:
    numbers = table(0.9, 0.3, attributes=("hue", "size"))
    swapped = {"hue": numbers.aligned["hue"], "size": ~numbers.aligned["size"]}
    (row,) = rows([make_run("vanilla", replace(numbers, aligned=swapped))])
    assert (row.aligned, row.conflicting) == pytest.approx((0.3, 0.3))


def test_a_split_without_conflicts_has_no_number_for_them(make_run: MakeRun) -> None:
    numbers = table(0.9, 0.3)
    everything = {"hue": numbers.aligned["hue"] | True}
    (row,) = rows([make_run("vanilla", replace(numbers, aligned=everything))])
    assert row.conflicting is None
    assert json.loads(as_json([row]))[0]["conflicting"] is None


def test_text() -> None:
    unknown = replace(ROW, method="flac", unbiased=None, aligned=None, conflicting=None, worst_group=None, seconds=7)
    assert as_text([ROW]).splitlines() == [
        "method   unbiased  aligned  conflicting  worst group  seconds",
        "vanilla    45.0 %   90.0 %       30.0 %        0.0 %     12.3",
    ]
    last = "flac       50.0 %         -        -            -            -      7.0"
    assert as_text([ROW, unknown]).splitlines()[2] == last.replace("-", "\N{EN DASH}")


@pytest.mark.parametrize(
    ("change", "title"),
    [
        ({"seed": 1}, "seed"),
        ({"data": "toy"}, "data"),
        ({"unbiased": 0.5}, "run"),
        ({"method": "di", "labels": "class, attribute"}, "labels"),
    ],
)
def test_text_shows_what_tells_rows_apart(change: dict[str, object], title: str) -> None:
    assert title in as_text([ROW, replace(ROW, **change)]).splitlines()[0].split()  # type: ignore[arg-type]
    assert title not in as_text([ROW]).splitlines()[0].split()


def test_text_of_nothing_is_the_header() -> None:
    assert as_text([]).split("\n") == ["method  unbiased  aligned  conflicting  worst group  seconds"]


def test_json_has_every_number() -> None:
    (stored,) = json.loads(as_json([ROW]))
    assert RunRow(**stored) == ROW


def test_a_run_that_has_not_finished_is_named(make_run: MakeRun) -> None:
    run = make_run("vanilla", table(0.9, 0.3))
    (run.path / "result.json").unlink()
    with pytest.raises(UserError, match=r"0123456789-s0.*result\.json"):
        rows([Run.open(run.path)])
