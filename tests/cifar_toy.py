"""A CIFAR-10 of 250 images, which the code takes for the right one."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from fairflac.data.sets import cifar10

Arrays = dict[str, np.ndarray]


def photographs(number: int, seed: int = 0) -> np.ndarray:
    """(N, 32, 32, 3) images with large and small structure, dark and bright, of all colours."""
    rng = np.random.default_rng(seed)
    coarse, fine = (ndimage.gaussian_filter(rng.random((number, 32, 32, 3)), (0, s, s, 0)) for s in (5, 1))
    x = (coarse - coarse.mean()) / coarse.std() + 0.5 * (fine - fine.mean()) / fine.std()
    return np.clip(128 + 50 * x, 0, 255).astype(np.uint8)


def arrays() -> Arrays:
    y_train, y_test = np.tile(np.arange(10, dtype=np.uint8), 20), np.tile(np.arange(10, dtype=np.uint8), 5)
    return {"x_train": photographs(200), "y_train": y_train, "x_test": photographs(50, 1), "y_test": y_test}


def batches(content: Arrays) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    parts = [(content["x_train"][i : i + 40], content["y_train"][i : i + 40]) for i in range(0, 200, 40)]
    names = [f"data_batch_{number}" for number in range(1, 6)]
    return dict(zip([*names, "test_batch"], [*parts, (content["x_test"], content["y_test"])], strict=True))


def accept(content: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {name: cifar10._digest(*batch) for name, batch in batches(content).items()}
    monkeypatch.setattr(cifar10, "BATCHES", digests)


def store(root: Path, content: Arrays) -> None:
    (root / "cifar10").mkdir(parents=True)
    np.savez(root / "cifar10" / "cifar10.npz", **content)
