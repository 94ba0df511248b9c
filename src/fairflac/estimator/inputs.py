"""What X may be: images or vectors as an array or a .npy file, or image files."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps

from fairflac.errors import UserError

Kind = Literal["files", "images", "vectors"]
Size = tuple[int, int]


class WrongInput(UserError, ValueError):
    """An argument that does not fit, which scikit-learn expects to be a ValueError."""


def opened(x: Any) -> tuple[Kind, Any]:
    """X and what it is; a .npy file is what is in it."""
    if isinstance(x, str | Path):
        path = Path(x).expanduser()
        if path.suffix != ".npy":
            return "files", path
        x = _loaded(path)
    if isinstance(x, list | tuple) and x and all(isinstance(one, str | Path) for one in x):
        return "files", [Path(one).expanduser() for one in x]
    array = x if hasattr(x, "ndim") else None  # lists of numbers are for scikit-learn to judge
    if array is None or array.ndim < 3:
        return "vectors", x
    return "images", _as_rgb(np.asarray(array))


def resized(images: np.ndarray, size: Size) -> np.ndarray:
    """The largest centred part with the right proportions, as image files are read."""
    if images.shape[1:3] == size:
        return np.ascontiguousarray(images)
    shape = (size[1], size[0])
    fitted = (ImageOps.fit(Image.fromarray(image), shape, Image.Resampling.BILINEAR) for image in images)
    return np.stack([np.asarray(image) for image in fitted])


def _loaded(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise WrongInput(f"there is no file '{path}': check the path") from None
    except (OSError, ValueError, EOFError) as error:
        raise WrongInput(f"'{path}' is not an array that np.save wrote: {error}") from error
    return array


def _as_rgb(images: np.ndarray) -> np.ndarray:
    shaped = images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
    if images.dtype != np.uint8 or not shaped or 0 in images.shape:
        raise WrongInput(
            f"X of shape {images.shape} and type {images.dtype} is none of: uint8 images (N, H, W, 3) or (N, H, W), "
            "numbers (N, D), a folder or CSV file of images, a .npy file"
        )
    return images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
