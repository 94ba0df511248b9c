"""One large image: each small one at its place."""

import base64
from io import BytesIO

import numpy as np
from PIL import Image

from fairflac.reporting.pictures import COLUMNS, sprite


def decoded(uri: str) -> np.ndarray:
    head, _, content = uri.partition(",")
    assert head == "data:image/webp;base64"
    return np.asarray(Image.open(BytesIO(base64.b64decode(content))).convert("RGB"))


def test_every_image_is_at_its_place() -> None:
    images = np.zeros((45, 6, 4, 3), dtype=np.uint8)
    images[:] = (5 * np.arange(45, dtype=np.uint8))[:, None, None, None]
    images[:, 0, 0] = 255  # a corner, so that turned images show
    made = sprite(images)
    sheet = decoded(made.uri)
    assert (made.columns, made.lines, made.ratio) == (COLUMNS, 3, 4 / 6)
    assert sheet.shape == (3 * 6, COLUMNS * 4, 3)
    for k in (0, 19, 20, 44):
        line, column = divmod(k, COLUMNS)
        assert (sheet[line * 6 : line * 6 + 6, column * 4 : column * 4 + 4] == images[k]).all()


def test_few_images_still_have_two_lines() -> None:
    assert sprite(np.zeros((2, 4, 4, 3), dtype=np.uint8)).lines == 2


def test_photographs_are_small() -> None:
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (400, 16, 16, 3), dtype=np.uint8)
    photographs = np.stack([np.asarray(Image.fromarray(c).resize((64, 64), Image.Resampling.BICUBIC)) for c in coarse])
    assert len(sprite(photographs).uri) < 1_000_000
