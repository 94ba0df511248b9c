"""Many small images as one, which costs a page far less than one file for each."""

from dataclasses import dataclass
from io import BytesIO

import numpy as np
from PIL import Image

from fairflac.report.pictures import data_uri

COLUMNS = 20
QUALITY = 80  # of WebP, for photographs


@dataclass(frozen=True)
class Sprite:
    """The image at place `k` is in column `k % columns` and line `k // columns`."""

    uri: str
    columns: int
    lines: int
    ratio: float  # width by height of one image


def sprite(images: np.ndarray) -> Sprite:
    """(M, H, W, 3) uint8. Drawings are smaller without loss and photographs with it: the smaller file is taken."""
    count, height, width, _ = images.shape
    lines = max(2, -(-count // COLUMNS))  # two at least: positions are shares of the way to the last
    sheet = np.zeros((lines * COLUMNS, height, width, 3), dtype=np.uint8)
    sheet[:count] = images
    grid = sheet.reshape(lines, COLUMNS, height, width, 3).swapaxes(1, 2).reshape(lines * height, COLUMNS * width, 3)
    return Sprite(data_uri("webp", _smallest(Image.fromarray(grid))), COLUMNS, lines, width / height)


def _smallest(image: Image.Image) -> bytes:
    files = []
    for lossless in (True, False):
        stream = BytesIO()
        image.save(stream, "WEBP", lossless=lossless, quality=QUALITY)
        files.append(stream.getvalue())
    return min(files, key=len)
