import pytest

from fairflac.config.run_config import resolve
from fairflac.errors import UserError
from fairflac.methods import METHODS
from fairflac.tuning.space import Choices, Range, default_space, describe, make_space, size


def test_ranges_and_choices() -> None:
    space = make_space(
        {"lr": "1e-4:1e-2", "epochs": "1:64", "dropout": "0:0.5", "task": "ce,supcon", "c": "[1,2],[3,4]"}
    )
    assert list(space) == sorted(space)
    assert space["lr"] == Range(1e-4, 1e-2) and space["lr"].log and not space["lr"].whole
    assert space["epochs"] == Range(1, 64) and space["epochs"].log and space["epochs"].whole
    assert not space["dropout"].log and not space["dropout"].whole  # 0 has no logarithm
    assert not Range(1.0, 9.0).log and Range(1.0, 10.0).log
    assert space["task"] == Choices(("ce", "supcon")) and space["c"] == Choices(([1, 2], [3, 4]))
    assert describe({"epochs": Range(1, 64)}) == "epochs 1 to 64, whole numbers, log scale"


def test_size_counts_different_settings() -> None:
    assert size(make_space({"a": "1:4", "b": "x,y,z"})) == 12
    assert size(make_space({"a": "1:4", "b": "1.0:4"})) == float("inf")


def test_what_a_range_contains() -> None:
    assert 2.0 in Range(1, 4) and 2.5 not in Range(1, 4) and 2.5 in Range(1.0, 4)
    assert 5 not in Range(1, 4) and "2" not in Range(1, 4)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("3:1", "empty"),
        ("3:3", "empty"),
        ("1:inf", "finite"),
        ("nan:1", "finite"),
        ("3", "nothing to search"),
        ("1,1.0", "twice"),
        ("ce,,supcon", "empty"),
    ],
)
def test_mistakes(text: str, part: str) -> None:
    with pytest.raises(UserError, match=f"search of alpha: .*{part}"):
        make_space({"alpha": text})


def test_values_of_python() -> None:
    assert make_space({"task": ["ce", "supcon"], "alpha": (1, 1e4)}) == make_space(
        {"alpha": "1:1e4", "task": "ce,supcon"}
    )
    for empty in ((3, 1), [3]):
        with pytest.raises(UserError, match="search of alpha"):
            make_space({"alpha": empty})


@pytest.mark.parametrize(
    ("method", "space"),
    [
        ("flac", {"alpha": Range(10.0, 1000.0)}),
        ("flac-b", {"alpha": Range(10.0, 1000.0)}),
        ("flac-plus", {"strength": Range(0.655172, 0.994764)}),  # 1.9 to 1 and 190 to 1
        ("cgl", {"lam": Range(0.1, 10.0)}),  # not the share of labels, which is what one has
        ("jtt", {"lambda_up": Range(5.0, 500.0)}),
        ("lff", {"gce_q": Range(0.07, 1.0)}),  # up to its limit
        ("gce-committee", {"gce_q": Range(0.07, 1.0)}),
        ("ssa", {"eta_q": Range(0.001, 0.1)}),
    ],
)
def test_without_a_wish_a_decade_on_both_sides_of_the_recipe(method: str, space: dict[str, Range]) -> None:
    assert default_space(resolve("biased-digits", method)) == space


def test_it_follows_the_settings() -> None:
    assert default_space(resolve("biased-digits", "flac", 0, {"alpha": 3})) == {"alpha": Range(0.3, 30.0)}
    assert default_space(resolve("biased-mnist", "flac", 0, {"q": 0.999})) == {"alpha": Range(1000.0, 100000.0)}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_valid_space_or_says_that_it_has_none(method: str) -> None:
    config = resolve("biased-digits", method)
    if method in ("vanilla", "balanced", "di"):
        with pytest.raises(UserError, match="no weight to search"):
            default_space(config)
        return
    ((key, found),) = default_space(config).items()
    for value in found.examples:
        assert resolve("biased-digits", method, 0, {key: value}).method_options[key] == value
    assert config.method_options[key] in found
