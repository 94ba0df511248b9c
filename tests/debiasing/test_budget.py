"""What fits into a given time."""

import time

import pytest

from fairflac.debiasing import plan as budget
from fairflac.debiasing.clock import Clock, parse_budget
from fairflac.debiasing.plan import BiasWork, batch_size, fitting
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


def clock(seconds: float | None) -> Clock:
    """Just started."""
    return Clock(seconds)


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("images", [120, 2_000, 120_000, 2_000_000])
@pytest.mark.parametrize("seconds", [120.0, 600.0, 3600.0])
@pytest.mark.parametrize("bias", [BiasWork(), BiasWork(runs=1, reading=10.0)])
def test_a_plan_with_everything_in_it_keeps_its_budget(images: int, seconds: float, bias: BiasWork) -> None:
    epoch = images * 32**2 * 1e-7 * budget.EPOCH
    least = epoch * budget.FEWEST * (1 + budget.AGAINST + bias.runs) + bias.reading + budget.ENDING
    if least > seconds * (1 - budget.RESERVE):
        with pytest.raises(UserError, match=r"is too little: .* at least"):
            fitting(images, 300, clock(seconds), bias)
        return
    size = fitting(images, 300, clock(seconds), bias)
    assert size.seconds(bias) <= seconds * (1 - budget.RESERVE)
    assert budget.FEWEST <= size.epochs <= budget.EPOCHS[1]
    assert fitting(images, 300, clock(10 * seconds), bias).size >= size.size  # more time never makes it smaller


@pytest.mark.usefixtures("steady")
def test_a_bias_model_that_takes_long_leaves_less_for_the_others() -> None:
    alone = fitting(2_000, 300, clock(600))
    assert fitting(2_000, 300, clock(600), BiasWork(images=500_000)).epoch_seconds < alone.epoch_seconds
    with pytest.raises(UserError, match="too little"):
        fitting(2_000, 300, clock(600), BiasWork(reading=700))


@pytest.mark.usefixtures("steady")
def test_what_the_user_set_stays() -> None:
    found = fitting(1_000, 300, clock(1e6), asked={"net": "simple-conv", "size": 48, "epochs": 7, "batch_size": 32})
    assert (found.net, found.size, found.epochs, found.batch_size) == ("simple-conv", 48, 7, 32)
    assert fitting(1_000, 300, clock(None), asked={"size": 40}).size == 40
    with pytest.raises(UserError, match="too little"):
        fitting(1_000, 300, clock(60), asked={"net": "resnet18", "size": 300, "epochs": 500})


@pytest.mark.usefixtures("steady")
def test_a_large_budget_takes_the_best_and_small_images_are_not_enlarged() -> None:
    assert fitting(1_000, 300, clock(1e6)).settings()["size"] == 128
    assert fitting(1_000, 72, clock(1e6)).size == 64
    small = fitting(1_000, 10, clock(1e6))
    assert (small.net, small.size) == ("simple-conv", 32)
    usual = fitting(1_000, 300, clock(None))
    assert (usual.net, usual.size) == ("resnet18", 64)


def test_the_clock_shortens_what_is_left() -> None:
    late = Clock(300.0, start=time.monotonic() - 100)
    left = 300 * (1 - budget.RESERVE) - budget.ENDING - 100
    assert late.left == pytest.approx(left, abs=1)
    assert late.affords(left / 20, wanted=12) == 12
    assert late.affords(left / 9.5, wanted=12) == 9
    assert late.affords(1000.0, wanted=12) == budget.FEWEST  # a model with fewer epochs is none
    assert clock(None).affords(1000.0, wanted=12) == 12


def test_the_time_is_told() -> None:
    def told(seconds: float | None, spent: float) -> str:
        return str(Clock(seconds, start=time.monotonic() - spent))

    assert told(480.0, 540.0) == "took 9 of 8 minutes"
    assert told(600.0, 450.0) == "took 7.5 of 10 minutes"
    assert told(90.0, 30.0) == "took 30 of 90 seconds"
    assert told(None, 600.0) == "took 10 minutes"


@pytest.mark.usefixtures("steady")
def test_few_images_are_seen_often_and_many_seldom() -> None:
    few, many = fitting(120, 300, clock(None)), fitting(120_000, 300, clock(None))
    assert (few.epochs, few.batch_size) == (60, 16)
    assert (many.epochs, many.batch_size) == (10, 128)
    assert (few.early_epochs, many.early_epochs) == (6, 1)


def test_a_batch_leaves_four_steps_in_an_epoch() -> None:
    assert [batch_size(n) for n in (10, 130, 260, 511, 512, 10**6)] == [16, 32, 64, 64, 128, 128]


def test_the_time_of_a_step_is_measured_here() -> None:
    assert fitting(100, 36, clock(1e9)).epoch_seconds > 0
