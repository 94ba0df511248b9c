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
LARGE = 20_000_000  # pixels; above, an image is made smaller before anything else
REDUCIBLE = ("L", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "F")
ROWS = 256  # of a wide image, that are in memory as floats
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
            if file.format == "EPS":  # Pillow would have Ghostscript run it
                raise Unreadable("PostScript is a program, and none is run: save it as PNG")
            file.draft("RGB", (DRAFT * width, DRAFT * height))  # JPEG only
            ImageOps.exif_transpose(file, in_place=True)
            image = _rgb(_reduced(file, DRAFT * width, DRAFT * height))
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


def _reduced(image: Image.Image, width: int, height: int) -> Image.Image:
    """As `draft` does it, for large images of other kinds: what follows makes several copies."""
    factor = min(image.width // width, image.height // height)
    if image.width * image.height < LARGE or factor < 2 or image.mode not in REDUCIBLE:
        return image
    return image.reduce(factor)


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in WIDE_MODES:
        return _from_wide(image).convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, BACKGROUND), image).convert("RGB")
    return image.convert("RGB")


def _from_wide(image: Image.Image) -> Image.Image:
    """16 bits and more per pixel → 8. Integers have 65535 as white; floats 1, or 255 if they go beyond."""
    values = np.asarray(image)
    white = (1.0 if values.max(initial=0) <= 1 else 255.0) if image.mode == "F" else 65535.0
    eight = np.empty(values.shape, np.uint8)
    for start in range(0, len(values), ROWS):
        part = values[start : start + ROWS].astype(np.float64)
        eight[start : start + ROWS] = (part / white * 255).round().clip(0, 255)
    return Image.fromarray(eight)
