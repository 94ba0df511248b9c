import math
import sys

import pytest

from fairflac.errors import UserError
from fairflac.tuning.space import Choices, Range, Settings, Space, propose

SPACE: Space = {"alpha": Range(1, 1e4), "epochs": Range(1, 64), "task": Choices(("ce", [1, 2], True))}


def search(space: Space, number: int, seed: int = 0) -> list[tuple[Settings, float]]:
    """For alpha = 100."""
    finished: list[tuple[Settings, float]] = []
    for _ in range(number):
        settings = propose(space, finished, seed)
        finished.append((settings, -abs(math.log10(settings.get("alpha", 1)) - 2)))
    return finished


def test_settings_lie_in_the_space() -> None:
    for settings, _ in search(SPACE, 15):
        assert all(settings[key] in dimension for key, dimension in SPACE.items())
        assert isinstance(settings["epochs"], int)
        assert settings["alpha"] == float(f"{settings['alpha']:.3g}")  # nobody wants to type more


def test_the_same_again_and_from_any_point_on() -> None:
    whole = search(SPACE, 14)
    assert search(SPACE, 14) == whole
    assert [propose(SPACE, whole[:n], 0) for n in range(14)] == [settings for settings, _ in whole]
    assert search(SPACE, 3, seed=1) != whole[:3]


def test_it_learns_where_to_look() -> None:
    """By chance alone alphas of 1 to 10,000 are one decade away from 100, on average."""
    far = [-value for seed in range(3) for _, value in search({"alpha": Range(1, 1e4)}, 30, seed)[20:]]
    assert sum(far) / len(far) < 0.7


def test_a_small_space_is_walked_through_without_repeating_anything() -> None:
    space: Space = {"task": Choices(("a", "b", "c")), "epochs": Range(1, 4)}
    settings = [settings for settings, _ in search(space, 12)]
    assert all(one not in settings[:place] for place, one in enumerate(settings))


@pytest.mark.parametrize("low", [1.235, 1.2345])  # one number of three digits lies in the range, or none
def test_a_range_too_narrow_for_rounding(low: float) -> None:
    space: Space = {"alpha": Range(low, 1.245 if low == 1.235 else 1.2349)}
    alphas = [settings["alpha"] for settings, _ in search(space, 3)]
    assert len(set(alphas)) == 3 and all(alpha in space["alpha"] for alpha in alphas)


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match=r'pip install "fairflac\[tune\]"'):
        propose(SPACE, [], 0)
