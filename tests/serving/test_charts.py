"""Curves: which there are, and where they are drawn."""

import re

from fairflac.serving.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, curves, drawing, number

HISTORY = [
    {"epoch": n, "lr": 0.1, "loss": 5 - n, "pairs": 3, "seconds": n, "validation": {"unbiased:hue": n / 4, "p_rule": 0}}
    for n in (1, 2, 3)
]


def test_the_telling_ones_come_first_and_the_others_are_folded() -> None:
    found = curves(HISTORY)
    assert found[0].title == "training loss"
    assert {curve.title for curve in found if curve.main} == {"training loss", "pairs", "validation: unbiased, hue"}
    assert found[0].says == "training loss: 4 after epoch 1, 2 after epoch 3"


def test_a_point_lies_where_its_number_is() -> None:
    (share,) = (curve for curve in curves(HISTORY) if curve.share)
    points = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawing(share, epochs=5))
    inner = HEIGHT - TOP - BOTTOM
    places = [LEFT + part * (WIDTH - LEFT - RIGHT) for part in (0, 0.25, 0.5)]  # of five epochs, three are done
    heights = [HEIGHT - BOTTOM - part * inner for part in (0.25, 0.5, 0.75)]
    assert points == [(f"{x:.1f}", f"{y:.1f}") for x, y in zip(places, heights, strict=True)]


def test_one_epoch_and_equal_numbers_can_be_drawn() -> None:
    flat = [{"epoch": n, "loss": 0.0, "gap": -2.0} for n in (1, 2)]
    for history in (flat, flat[:1]):
        for curve in curves(history):
            assert "nan" not in drawing(curve, epochs=1)


def test_names_stay_text() -> None:
    (curve,) = curves([{"epoch": 1, '"><script>alert(1)</script>': 1.0}])
    assert "<script" not in drawing(curve, 1)


def test_numbers_beside_a_curve_are_plain() -> None:
    (curve,) = curves([{"epoch": 1, "loss": 0.0}, {"epoch": 2, "loss": 99.6}])
    numbers = re.findall(r'<text x="\d+" y="[\d.]+" text-anchor="end">([^<]+)<', drawing(curve, epochs=2))
    assert numbers == ["0", "50", "100"]


def test_numbers_are_written_as_people_read_them() -> None:
    assert [number(value) for value in (29370.4, 0.00084024, 5.2713, -12345, 0, 1e12)] == [
        "29,370", "0.0008402", "5.271", "-12,345", "0", "1e+12",
    ]  # fmt: skip
