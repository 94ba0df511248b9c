"""A test split of 10,000 photographs still gives a page that can be sent by mail."""

import numpy as np
import pytest
from PIL import Image

from fairflac.metrics.predictions import Predictions
from fairflac.reporting.page import render
from fairflac.runs.gallery import MISTAKES, SHOWN, Gallery, Overview
from reporting.hand_made import MakeRun

IMAGES, CLASSES, FEATURES = 10_000, 10, 64


def predicted(right: float, seed: int) -> Predictions:
    rng = np.random.default_rng(seed)
    y, hue = np.arange(IMAGES) % CLASSES, np.arange(IMAGES) // CLASSES % CLASSES
    prediction = np.where(rng.random(IMAGES) < right, y, hue)
    return Predictions(
        index=np.arange(IMAGES),
        y=y,
        prediction=prediction,
        score=rng.random(IMAGES),
        features=rng.normal(size=(IMAGES, FEATURES)).astype(np.float32),
        bias={"hue": hue},
        aligned={"hue": y == hue},
    )


def photographs(count: int) -> np.ndarray:
    """More detail than most have."""
    coarse = np.random.default_rng(0).integers(0, 256, (count, 24, 24, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(c).resize((64, 64), Image.Resampling.BICUBIC)) for c in coarse])


@pytest.mark.full_size
def test_ten_thousand_images(make_run: MakeRun) -> None:
    kept = np.arange(SHOWN + MISTAKES)
    images = photographs(len(kept))
    overview = Overview.of(images[np.arange(IMAGES) % len(images)])
    gallery = Gallery(kept, images, np.array([f"folder/photograph {i}.jpg" for i in kept]), overview)
    runs = [
        make_run(method, predicted(right, seed), gallery=gallery)
        for seed, (method, right) in enumerate({"vanilla": 0.3, "flac": 0.8}.items())
    ]
    page = render(runs)
    assert len(page.encode()) < 5_000_000
    assert f"among {len(kept)} images" in page and "one of 10,000 test images" in page  # nothing was left out
