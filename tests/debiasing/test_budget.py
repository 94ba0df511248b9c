"""What fits into a given time."""

import time

import pytest

from fairflac.debiasing import budget
from fairflac.debiasing.budget import AGAINST, BiasModelCost, TimeBudget, TrainingSetup, batch_size, choose_setup
from fairflac.errors import UserError
from fairflac.system.progress import parse_duration


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose time for an image is known: by its pixels, and ten times as long for the large network."""
    monkeypatch.setattr(
        budget, "seconds_per_image", lambda c: c.data_options["size"] ** 2 * (1e-6 if c.net == "resnet18" else 1e-7)
    )


def test_times_are_read() -> None:
    assert [parse_duration(text) for text in ("90s", "10m", " 1.5h ")] == [90, 600, 5400]


@pytest.mark.parametrize("text", ["10", "m", "-3m", "0m", "ten minutes", "5d"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(UserError, match="such as 90s"):
        parse_duration(text)


def clock(seconds: float | None) -> TimeBudget:
    """Just started."""
    return TimeBudget(seconds)


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("images", [120, 2_000, 120_000, 2_000_000])
@pytest.mark.parametrize("seconds", [120.0, 600.0, 3600.0])
@pytest.mark.parametrize("bias", [BiasModelCost(), BiasModelCost(runs=1, reading=10.0)])
def test_a_plan_with_everything_in_it_keeps_its_budget(images: int, seconds: float, bias: BiasModelCost) -> None:
    epoch = images * 32**2 * 1e-7 * budget.EPOCH
    least = epoch * budget.FEWEST * (1 + budget.AGAINST + bias.runs) + bias.reading + budget.ENDING
    if least > seconds * (1 - budget.RESERVE):
        with pytest.raises(UserError, match=r"is too little: .* at least"):
            choose_setup(images, 300, clock(seconds), bias)
        return
    size = choose_setup(images, 300, clock(seconds), bias)
    assert size.seconds(bias) <= seconds * (1 - budget.RESERVE)
    assert budget.FEWEST <= size.epochs <= budget.EPOCHS[1]
    assert choose_setup(images, 300, clock(10 * seconds), bias).size >= size.size  # more time never makes it smaller


@pytest.mark.usefixtures("steady")
def test_a_bias_model_that_takes_long_leaves_less_for_the_others() -> None:
    alone = choose_setup(2_000, 300, clock(600))
    assert choose_setup(2_000, 300, clock(600), BiasModelCost(images=500_000)).epoch_seconds < alone.epoch_seconds
    with pytest.raises(UserError, match="too little"):
        choose_setup(2_000, 300, clock(600), BiasModelCost(reading=700))


@pytest.mark.usefixtures("steady")
def test_what_the_user_set_stays() -> None:
    found = choose_setup(
        1_000, 300, clock(1e6), asked={"net": "simple-conv", "size": 48, "epochs": 7, "batch_size": 32}
    )
    assert (found.net, found.size, found.epochs, found.batch_size) == ("simple-conv", 48, 7, 32)
    assert choose_setup(1_000, 300, clock(None), asked={"size": 40}).size == 40
    with pytest.raises(UserError, match="too little"):
        choose_setup(1_000, 300, clock(60), asked={"net": "resnet18", "size": 300, "epochs": 500})


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("seconds", [None, 1e6])
def test_a_frozen_network_gets_images_of_the_size_that_it_sees(seconds: float | None) -> None:
    def side(**asked: object) -> int:
        return choose_setup(1_000, 72, clock(seconds), asked={"net": budget.FROZEN, **asked}, pretrained=True).size

    assert side() == 96 and side(size=64) == 64  # unless the user says otherwise


@pytest.mark.usefixtures("steady")
def test_a_large_budget_takes_the_best_and_small_images_are_not_enlarged() -> None:
    assert choose_setup(1_000, 300, clock(1e6)).settings()["size"] == 128
    assert choose_setup(1_000, 72, clock(1e6)).size == 64
    small = choose_setup(1_000, 10, clock(1e6))
    assert (small.net, small.size) == ("simple-conv", 32)
    fine_tuned = choose_setup(1_000, 28, clock(1e6), pretrained=True)  # as without a budget
    assert (fine_tuned.net, fine_tuned.size) == ("resnet18", 32)
    usual = choose_setup(1_000, 300, clock(None))
    assert (usual.net, usual.size) == ("resnet18", 64)


def test_the_clock_shortens_what_is_left() -> None:
    late = TimeBudget(300.0, start=time.monotonic() - 100)
    left = 300 * (1 - budget.RESERVE) - budget.ENDING - 100
    assert late.left == pytest.approx(left, abs=1)
    assert late.affords(left / 20, wanted=12) == 12
    assert late.affords(left / 9.5, wanted=12) == 9
    assert late.affords(1000.0, wanted=12) == budget.FEWEST  # a model with fewer epochs is none
    assert clock(None).affords(1000.0, wanted=12) == 12


def test_the_time_is_told() -> None:
    def told(seconds: float | None, spent: float) -> str:
        return str(TimeBudget(seconds, start=time.monotonic() - spent))

    assert told(480.0, 540.0) == "took 9 min of 8 min"
    assert told(600.0, 450.0) == "took 8 min of 10 min"
    assert told(90.0, 30.0) == "took 30 s of 90 s"
    assert told(None, 600.0) == "took 10 min"


@pytest.mark.usefixtures("steady")
def test_few_images_are_seen_often_and_many_seldom() -> None:
    few, many = choose_setup(120, 300, clock(None)), choose_setup(120_000, 300, clock(None))
    assert (few.epochs, few.batch_size) == (60, 16)
    assert (many.epochs, many.batch_size) == (10, 128)
    assert (few.early_epochs, many.early_epochs) == (6, 1)


def test_a_batch_leaves_four_steps_in_an_epoch() -> None:
    assert [batch_size(n) for n in (10, 130, 260, 511, 512, 10**6)] == [16, 32, 64, 64, 128, 128]


def test_the_time_of_a_step_is_measured_here() -> None:
    assert choose_setup(100, 36, clock(1e9)).epoch_seconds > 0


@pytest.mark.usefixtures("steady")
def test_with_imagenet_weights_a_small_budget_trains_a_head_and_a_large_one_everything() -> None:
    """50,000 images: to fine-tune a network for 6 epochs three times takes longer than to look at each image once."""
    search = BiasModelCost(runs=budget.AGAINST)
    short = choose_setup(50_000, 300, clock(2400), search, pretrained=True)
    assert (short.net, short.size) == (budget.FROZEN, 96) and short.seconds(search) <= 2400 * (1 - budget.RESERVE)
    assert short.settings_against() == {**short.settings(), "weight_decay": budget.HEAD_DECAY}
    assert short.settings()["weights"] == "imagenet" and short.epochs >= budget.HEAD_EPOCHS[0]
    long = choose_setup(50_000, 300, clock(100_000), search, pretrained=True)
    assert long.settings_against() == long.settings()
    assert (long.net, long.size) == ("resnet18", 128) and long.settings()["weights"] == "imagenet"
    assert choose_setup(10_000, 72, clock(None), pretrained=True).epochs == 7  # of 78 steps
    assert choose_setup(10_000, 72, clock(None)).settings().get("weights") is None
    own = choose_setup(10_000, 72, clock(None), asked={"weights": "mine.safetensors"}, pretrained=True)
    assert "weights" not in own.settings()  # what the user set stays


def test_every_seed_costs_its_training_and_images_are_read_once() -> None:
    size = TrainingSetup("resnet18", 64, 10, 32, 4, 2.0)
    one, three = (size.seconds(BiasModelCost(reading=7.0, seeds=seeds)) for seeds in (1, 3))
    assert three - one == pytest.approx(2 * 10 * 2.0 * (1 + AGAINST))
