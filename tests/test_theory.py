"""The paper's theoretical analysis (Section 3.3, Eq. 8-18) in numbers; docs/theory.md shows the same numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fairflac.losses.flac.textbook import pointwise, row_weights, rows_to_distributions
from fairflac.metrics.representation import quadratic_mutual_information

CLASSES = 10
PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


def samples(conflicting: list[int], aligned: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Class and attribute: `aligned` samples of each class, and so many of each of its other values."""
    y, t = [], []
    for c, times in enumerate(conflicting):
        others = [value for value in range(CLASSES) if value != c]
        y += [c] * (aligned + times * len(others))
        t += [c] * aligned + others * times
    return np.array(y), np.array(t)


UNIFORM, UNEVEN = [1] * CLASSES, [10] + [1] * (CLASSES - 1)  # the first class has ten times as many exceptions


class Ideal:
    """Kernel matrices of Eq. 8-10: the bias model knows the attribute, the other model confuses the two by delta."""

    def __init__(self, y: np.ndarray, t: np.ndarray, delta: float = 0.0) -> None:
        self.same_class, self.same_attribute = (values[:, None] == values for values in (y, t))
        self.bias = self.same_attribute.astype(float)
        self.trained = np.where(self.same_class, 1.0, 0.0)
        self.trained[self.same_class & ~self.same_attribute] = 1 - delta  # A10
        self.trained[~self.same_class & self.same_attribute] = delta  # A01
        self.s = self.same_class ^ self.same_attribute
        self.all = ~np.eye(len(y), dtype=bool)

    def alpha(self, omega: np.ndarray) -> np.ndarray:
        """Eq. 12 for every j."""
        above, below = (self.trained * omega).sum(0), ((1 - self.bias) * omega).sum(0)
        return above / below


def test_balanced_rows_make_alpha_one() -> None:
    """Eq. 12 over S of an uneven batch: alpha(j) depends on delta, and with A01 weighted it does not."""
    rng = np.random.default_rng(1)
    y, t = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    ideal = Ideal(y, t, delta=0.2)
    weights = row_weights(torch.from_numpy(ideal.s), torch.from_numpy(y)).numpy()  # row j has its pairs (i, j)
    plain, weighted = (ideal.alpha(ideal.s * factor) for factor in (1.0, weights.T))
    assert np.ptp(plain) > 0.05
    assert weighted == pytest.approx(1)


def loss(bias: np.ndarray, trained: torch.Tensor, omega: np.ndarray) -> torch.Tensor:
    """L_FLAC of kernel matrices, over the pairs of omega (Eq. 3-6)."""
    mask = torch.from_numpy(omega)
    p_b, p_h = (
        rows_to_distributions(values, mask, torch.ones_like(values)) for values in (torch.from_numpy(1 - bias), trained)
    )
    return torch.where(mask, pointwise(p_b, p_h, "jeffreys"), 0).sum()


@pytest.mark.parametrize("omega", ["s", "all"])
def test_a_loss_of_zero_is_proportionality(omega: str) -> None:
    """Eq. 11, both ways: any alpha(j) gives zero, and what gives zero has some alpha(j)."""
    rng = np.random.default_rng(0)
    y, t = rng.integers(0, 3, (2, 24))
    bias = 0.05 + 0.9 * (t[:, None] == t)  # not quite 0 and 1, so that every pair has a target
    ideal = Ideal(y, t)
    pairs = getattr(ideal, omega)
    scaled = torch.from_numpy(rng.uniform(0.2, 1, (24, 1)) * (1 - bias))  # rows are conditioned on, as in the loss
    assert loss(bias, scaled, pairs).item() == pytest.approx(0, abs=1e-9)
    free = torch.randn(24, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert loss(bias, free.sigmoid(), pairs).item() > 1
    optimiser = torch.optim.Adam([free], lr=0.1)
    for _ in range(800):
        optimiser.zero_grad()
        value = loss(bias, free.sigmoid(), pairs)
        value.backward()
        optimiser.step()
    assert value.item() < 1e-5
    ratio = np.where(pairs, free.sigmoid().detach().numpy() / (1 - bias), np.nan)
    assert np.nanmax(np.nanstd(ratio, axis=1) / np.nanmean(ratio, axis=1)) < 1e-2


def test_ideal_features_have_no_loss_on_s_and_some_on_all_pairs() -> None:
    ideal = Ideal(*samples(UNIFORM, aligned=20))
    assert loss(ideal.bias, torch.from_numpy(ideal.trained), ideal.s).item() == pytest.approx(0, abs=1e-6)
    assert loss(ideal.bias, torch.from_numpy(ideal.trained), ideal.all).item() > 100


@pytest.mark.parametrize("delta", [0.0, 0.1, 0.3])
def test_alpha_is_one_on_s_with_uniform_bias(delta: float) -> None:
    np.testing.assert_allclose(Ideal(*samples(UNIFORM), delta).alpha(Ideal(*samples(UNIFORM)).s), 1)


def test_alpha_follows_equation_12_elsewhere() -> None:
    y, t = samples(UNEVEN)
    ideal = Ideal(y, t, delta=0.3)
    a10, a01 = ((ideal.same_class & ~ideal.same_attribute).sum(0), (~ideal.same_class & ideal.same_attribute).sum(0))
    np.testing.assert_allclose(ideal.alpha(ideal.s), (a10 + 0.3 * (a01 - a10)) / a10)
    assert ideal.alpha(ideal.s).max() > 1.25 and ideal.alpha(ideal.s).min() < 0.75


def qmi(kernel: np.ndarray, t: np.ndarray) -> float:
    return quadratic_mutual_information(kernel, t).value


def test_independent_features_share_nothing_with_the_attribute() -> None:
    """Balanced data: A10 is (C - 1) times A11. Without the 2 of V_BTW, as Eq. 15 is printed, it would not be 0."""
    y, t = (values.ravel() for values in np.indices((CLASSES, CLASSES)))
    ideal = Ideal(y, t)
    potentials = quadratic_mutual_information(ideal.trained, t)
    assert potentials.value == pytest.approx(0, abs=1e-12)
    assert potentials.v_in + potentials.v_all - potentials.v_btw == pytest.approx(1 / CLASSES**2)
    assert qmi(ideal.bias, t) > 0.05


def test_no_features_reach_zero_on_all_pairs() -> None:
    """Similarities alpha (1 - K(b)) of different samples, 1 of a sample and itself: no kernel of any features."""
    _, t = samples(UNIFORM, aligned=20)
    wanted = np.where(np.eye(len(t), dtype=bool), 1, 0.11 * (t[:, None] != t))
    assert np.linalg.eigvalsh(wanted).min() < -1
    on_s = Ideal(*samples(UNIFORM, aligned=20)).trained
    assert np.linalg.eigvalsh(on_s).min() > -1e-9


def rows() -> list[str]:
    """The table of docs/theory.md."""
    lines = []
    for pairs, kind, conflicting in (("S", "uniform", UNIFORM), ("S", "uneven", UNEVEN), ("all", "uniform", UNIFORM)):
        cells = []
        for delta in (0.0, 0.1, 0.3):
            ideal = Ideal(*samples(conflicting), delta)
            alpha = ideal.alpha(ideal.s if pairs == "S" else ideal.all)
            low, high = (f"{value:.2f}" for value in (alpha.min(), alpha.max()))
            cells.append(low if low == high else f"{low} to {high}")
        lines.append(f"| {pairs} | {kind} | {' | '.join(cells)} |")
    return lines


def test_the_page_shows_these_numbers() -> None:
    page = PAGE.read_text()
    for line in rows():
        assert line in page, line


def test_the_other_numbers_of_the_page() -> None:
    y, t = (values.ravel() for values in np.indices((CLASSES, CLASSES)))
    assert qmi(Ideal(y, t).bias, t) == pytest.approx(0.09)
    assert quadratic_mutual_information(Ideal(y, t).trained, t) == pytest.approx((0.01, 0.01, 0.01))
    biased_y, biased_t = samples(UNIFORM)
    assert qmi(Ideal(biased_y, biased_t).trained, biased_t) == pytest.approx(0.074, abs=5e-4)
