"""Motion blur as ImageMagick defines it: half a bell along a line, the steps rounded to whole pixels."""

import numpy as np

from fairflac.data.corruptions.pixels import SIZE, Floats, Images


def move(x: Floats, radius: int, sigma: float, degrees: Floats) -> Floats:
    """Blur (N, 32, 32, C), image n in direction `degrees[n]`; what lies outside repeats the edge."""
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    angles = np.deg2rad(degrees)[:, None]
    right = np.ceil(steps * np.cos(angles) - 0.5).astype(int)  # (N, steps)
    down = np.ceil(steps * np.sin(angles) - 0.5).astype(int)
    samples, place = np.arange(len(x))[:, None, None], np.arange(SIZE)
    moved = np.zeros_like(x)
    for step, weight in enumerate(weights):
        rows = np.clip(place + down[:, step, None], 0, SIZE - 1)
        columns = np.clip(place + right[:, step, None], 0, SIZE - 1)
        moved += weight * x[samples, rows[:, :, None], columns[:, None, :]]
    return moved


def motion_blur(images: Images, severity: int, rng: np.random.Generator) -> Images:
    radius, sigma = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))[severity - 1]
    moved = move(images.astype(float), radius, sigma, rng.uniform(-45, 45, len(images)))
    return np.rint(moved).astype(np.uint8)  # ImageMagick rounds
