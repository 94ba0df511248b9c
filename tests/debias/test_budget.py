"""What fits into a given time."""

import pytest

from fairflac.debias import budget
from fairflac.debias.budget import Size, batch_size, fitting, parse_budget
from fairflac.errors import UserError


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose time for an image is known: by its pixels, and ten times as long for the large network."""
    monkeypatch.setattr(
        budget, "seconds_per_image", lambda c: c.data_options["size"] ** 2 * (1e-6 if c.net == "resnet18" else 1e-7)
    )


def test_times_are_read() -> None:
    assert [parse_budget(text) for text in ("90s", "10m", " 1.5h ")] == [90, 600, 5400]


@pytest.mark.parametrize("text", ["10", "m", "-3m", "0m", "ten minutes", "5d"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(UserError, match="such as 90s"):
        parse_budget(text)


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("images", [120, 2_000, 120_000, 2_000_000])
@pytest.mark.parametrize("seconds", [120.0, 600.0, 3600.0])
def test_a_plan_keeps_its_budget(images: int, seconds: float) -> None:
    if images * 32**2 * 1e-7 * budget.PASSES * budget.FEWEST > seconds * (1 - budget.KEPT_BACK):
        with pytest.raises(UserError, match="raise --budget"):
            fitting(images, 300, seconds)
        return
    size = fitting(images, 300, seconds)
    assert size.seconds <= seconds * (1 - budget.KEPT_BACK)
    assert budget.FEWEST <= size.epochs <= budget.EPOCHS[1]
    assert fitting(images, 300, 10 * seconds).size >= size.size  # more time never makes it smaller


@pytest.mark.usefixtures("steady")
def test_a_large_budget_takes_the_best_and_small_images_are_not_enlarged() -> None:
    assert fitting(1_000, 300, 1e6).settings()["size"] == 128
    assert fitting(1_000, 72, 1e6).size == 64
    assert fitting(1_000, 10, 1e6) == Size("simple-conv", 32, *_rest(fitting(1_000, 10, 1e6)))
    assert fitting(1_000, 300, None).net == "resnet18" and fitting(1_000, 300, None).size == 64


def _rest(size: Size) -> tuple[int, int, int, float]:
    return size.epochs, size.batch_size, size.steps, size.seconds


@pytest.mark.usefixtures("steady")
def test_few_images_are_seen_often_and_many_seldom() -> None:
    few, many = fitting(120, 300, None), fitting(120_000, 300, None)
    assert (few.epochs, few.batch_size) == (60, 16)
    assert (many.epochs, many.batch_size) == (10, 128)
    assert (few.early_epochs, many.early_epochs) == (6, 1)


def test_a_batch_leaves_four_steps_in_an_epoch() -> None:
    assert [batch_size(n) for n in (10, 130, 260, 511, 512, 10**6)] == [16, 32, 64, 64, 128, 128]


def test_the_time_of_a_step_is_measured_here() -> None:
    size = fitting(100, 300, 1e9)
    assert size.seconds > 0
