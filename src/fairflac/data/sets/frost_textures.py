"""Photographs of frost, out of the package imagecorruptions, which is read and never imported."""

import hashlib
import io
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fairflac.data.sources.download import SOURCE_FAILURES, Say, pip_wheel
from fairflac.errors import UserError
from fairflac.system.files import replacing

PACKAGE, WHEEL = "imagecorruptions==1.1.2", "imagecorruptions-1.1.2-py3-none-any.whl"
PACKAGE_SHA256 = "d0e4bf529ba6fbb27d8aba1bde7c5db43bf2b969b2c767c11419e939e3e365b8"
# Five of its six, as CIFAR-C draws from the first five only.
FILES = {
    "frost1.png": "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
    "frost2.png": "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
    "frost3.png": "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
    "frost4.jpg": "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
    "frost5.jpg": "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
}


def get(root: Path, source: Path | None, say: Say) -> None:
    """Put the textures in place. Where they cannot be had this is said, and no error: generated ones stand in."""
    if have(root):
        say(f"frost: the textures are already in {root / 'frost'}")
        return
    try:
        files = _from_wheel(pip_wheel(PACKAGE, PACKAGE_SHA256) if source is None else _wheel_in(source))
    except SOURCE_FAILURES as error:
        where = f"'{source}'" if source else f"package {PACKAGE}"
        say(f"frost: no textures from {where} ({error}): generated ones will stand in, and the built set says so")
        return
    for name, content in files.items():
        with replacing(root / "frost" / name) as stream:
            stream.write(content)
    say(f"frost: {len(files)} textures of {PACKAGE} in {root / 'frost'}")


def have(root: Path) -> bool:
    """Are all five there, and right?"""
    paths = {root / "frost" / name: sha256 for name, sha256 in FILES.items()}
    return all(path.is_file() and _sha256(path.read_bytes()) == sha256 for path, sha256 in paths.items())


def load(root: Path) -> tuple[NDArray[np.uint8], ...]:
    """Five textures (H, W, 3) at a fifth of their size.

    CIFAR-C shrinks them with OpenCV's linear interpolation, which at exactly 1/5 looks up the middle one of every five
    pixels and nothing else.
    """
    textures = []
    for name in FILES:
        with Image.open(root / "frost" / name) as picture:
            width, height = round(picture.width / 5), round(picture.height / 5)
            textures.append(np.asarray(picture.convert("RGB"))[2::5, 2::5][:height, :width])
    return tuple(textures)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _wheel_in(folder: Path) -> bytes:
    if not (folder / WHEEL).is_file():
        raise UserError(f"it has no {WHEEL}")
    return (folder / WHEEL).read_bytes()


def _from_wheel(wheel: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        entries = {PurePosixPath(entry).name: entry for entry in archive.namelist()}
        files = {name: archive.read(entries[name]) for name in FILES if name in entries}
    for name, sha256 in FILES.items():
        if name not in files or _sha256(files[name]) != sha256:
            raise UserError(f"{name} is missing or damaged")
    return files
