"""One image file of any kind → RGB pixels of one size."""

import io
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

# squash: exactly this size, whatever that does to proportions; cover: the largest part from the centre with the right
# proportions.
Fit = Literal["squash", "cover"]

# Above it an image is taken for a bomb: small as a file, gigabytes when unpacked.
MAX_PIXELS = 100_000_000
WIDE_MODES = ("I", "I;16", "I;16L", "I;16B", "F")
BACKGROUND = (255, 255, 255)
# A JPEG file is decoded at a half, a quarter or an eighth, as long as that is so many times as large as it is wanted:
# skips detail that would be thrown away.
DRAFT = 2


@dataclass(frozen=True)
class Framing:
    """How files become images, when a dataset is read and when its models see new files."""

    margin: float = 1.0  # images are kept so many times larger than the network sees them: a crop can choose
    fit: Fit = "cover"

    def stored(self, seen: tuple[int, int]) -> tuple[int, int]:
        """The size of what is kept, for a network that sees `seen` of it."""
        return round(seen[0] * self.margin), round(seen[1] * self.margin)


class Unreadable(Exception):
    """Why an image cannot be used."""


def decode(content: bytes, size: tuple[int, int], fit: Fit) -> np.ndarray:
    """Bytes of a file → (H, W, 3) uint8. EXIF orientation is applied; what is transparent becomes white."""
    height, width = size
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd metadata; what matters raises
            file = Image.open(io.BytesIO(content))
            if file.width * file.height > MAX_PIXELS:
                raise Unreadable(f"{file.width} x {file.height} pixels are too many")
            file.draft("RGB", (DRAFT * width, DRAFT * height))  # JPEG only
            image = _rgb(ImageOps.exif_transpose(file))
            if image.size != (width, height):
                shape = (width, height)
                filter = Image.Resampling.BILINEAR  # with antialiasing, as Pillow does it
                image = image.resize(shape, filter) if fit == "squash" else ImageOps.fit(image, shape, filter)
            return np.asarray(image)
    except Unreadable:
        raise
    except UnidentifiedImageError as error:  # Pillow's own words name an address in memory
        raise Unreadable("not an image, or of an unknown kind") from error
    except Exception as error:  # Pillow raises nearly anything on damaged files
        raise Unreadable(f"{type(error).__name__}: {error}".replace("\n", " ")) from error


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in WIDE_MODES:
        return _from_wide(image).convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, BACKGROUND), image).convert("RGB")
    return image.convert("RGB")


def _from_wide(image: Image.Image) -> Image.Image:
    """16 bits and more per pixel → 8. Integers have 65535 as white; floats 1, or 255 if they go beyond."""
    values = np.asarray(image, dtype=np.float64)
    white = (1.0 if values.max(initial=0) <= 1 else 255.0) if image.mode == "F" else 65535.0
    return Image.fromarray((values / white * 255).round().clip(0, 255).astype(np.uint8))
