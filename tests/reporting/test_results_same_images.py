"""Which models can stand side by side."""

from dataclasses import replace

from fairflac.reporting.results import on_the_same_images
from reporting.hand_made import table


def test_models_of_other_images_are_left_out() -> None:
    first = table(1.0, 0.5)
    tables = {
        "first": first,
        "other answers": table(1.0, 0.9),
        "other classes": replace(first, y=first.y[::-1]),
        "other hues": replace(first, bias={"hue": first.bias["hue"][::-1]}),
        "no hues": table(1.0, 0.5, attributes=()),
        "fewer": replace(first, index=first.index[:10], y=first.y[:10], bias={"hue": first.bias["hue"][:10]}),
    }
    assert list(on_the_same_images(tables)) == ["first", "other answers"]
