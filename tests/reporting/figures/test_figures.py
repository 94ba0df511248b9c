"""The catalogue: every figure of every dataset, vanilla first, and the same bytes again."""

import numpy as np
import pytest

from fairflac.reporting.figures import FIGURES, NAMES, drawings
from fairflac.reporting.figures.style import png, svg
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, photos, table


@pytest.fixture
def runs(make_run: MakeRun) -> list[Run]:
    few = table(1.0, 0.5).take(np.arange(0, 320, 8))
    few.index[:] = np.arange(len(few))
    names = {"classes": ["$a$", "_b", "日", "d" * 50], "attributes": {"hue": ["$\\x", "{", "%", "&"]}}

    def run(method: str, q: float) -> Run:
        history = [{"epoch": 1, "loss": 1.0, "pairs": 100 * (1 - q), "threshold": 0.7}]
        options = {"q": q}
        made = make_run(
            *(method, few),
            run_id=f"q{q}",
            gallery=photos(few.index),
            history=history,
            results=names,
            data_options=options,
            train={"batch_size": 8},
        )
        if method == "flac":
            np.save(made.pairs_per_batch, np.array([2, 4, 8]))
        return made

    return [run("flac", 0.9), run("flac", 0.99), run("vanilla", 0.9)]


def test_every_figure_of_every_dataset(runs: list[Run]) -> None:
    of_models = [figure.name for figure in FIGURES if figure.of_models]
    listed = [(name, data) for name, data, _ in drawings(runs)]
    assert listed == [
        *((name, "toy, q = 0.9") for name in of_models),
        *((name, "toy, q = 0.99") for name in of_models),
        ("pairs-per-batch", None),
    ]
    assert {name for name, _ in listed} == set(NAMES)


def test_vanilla_stands_first(runs: list[Run]) -> None:
    _, _, draw = next(drawings(runs, ["similarities"]))
    assert [axes.get_title() for axes in draw().figure.axes] == ["vanilla", "flac"]


def test_all_are_drawn_with_any_names_and_always_alike(runs: list[Run]) -> None:
    once, again = ([draw() for _, data, draw in drawings(runs) if data != "toy, q = 0.99"] for _ in range(2))
    assert len(once) == len(NAMES)
    for first, second in zip(once, again, strict=True):
        assert first.alt == second.alt and first.caption == second.caption
        assert png(first.figure) == png(second.figure)
        assert svg(first.figure) == svg(second.figure)
        assert first.alt.endswith(".") and any(digit.isdigit() for digit in first.caption)
