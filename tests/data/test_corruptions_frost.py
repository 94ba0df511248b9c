"""Photographs of frost: out of the wheel, proved, or honestly missing."""

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairflac.data.sets import corrupted_cifar10 as frost_textures


def picture(number: int) -> bytes:
    """315 x 560 pixels, as some of the real ones; the middle of every 5 x 5 tells its place."""
    pixels = np.zeros((315, 560, 4), np.uint8)
    pixels[2::5, 2::5, 0], pixels[2::5, 2::5, 1] = np.arange(63)[:, None], np.arange(112)
    pixels[2::5, 2::5, 2] = number
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch) -> bytes:
    files = {f"frost{number}.png": picture(number) for number in range(1, 6)}
    known = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(frost_textures, "FILES", known)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("imagecorruptions/__init__.py", "raise SystemExit")
        for name, content in files.items():
            archive.writestr(f"imagecorruptions/frost/{name}", content)
    return stream.getvalue()


def test_textures_come_out_of_the_wheel(wheel: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frost_textures, "pip_wheel", lambda package, sha256: wheel)
    assert not frost_textures.have_frost(tmp_path)
    frost_textures.get_frost(tmp_path, None, lambda line: None)
    assert frost_textures.have_frost(tmp_path)
    textures = frost_textures.load_frost(tmp_path)
    assert [texture.shape for texture in textures] == [(63, 112, 3)] * 5
    assert textures[3][10, 20].tolist() == [10, 20, 4]
    said: list[str] = []
    frost_textures.get_frost(tmp_path, None, said.append)
    assert said == [f"frost: the textures are already in {tmp_path / 'frost'}"]


def test_a_folder_may_have_the_wheel(wheel: bytes, tmp_path: Path) -> None:
    (tmp_path / frost_textures.WHEEL).write_bytes(wheel)
    frost_textures.get_frost(tmp_path / "root", tmp_path, lambda line: None)
    assert frost_textures.have_frost(tmp_path / "root")


@pytest.mark.parametrize("content", [b"not a zip", None])
@pytest.mark.usefixtures("wheel")
def test_no_textures_is_said_and_no_error(content: bytes | None, tmp_path: Path) -> None:
    if content:
        (tmp_path / frost_textures.WHEEL).write_bytes(content)
    said: list[str] = []
    frost_textures.get_frost(tmp_path / "root", tmp_path, said.append)
    assert "generated ones will stand in, and the built set says so" in said[0] and not (tmp_path / "root").exists()


@pytest.mark.usefixtures("wheel")
def test_a_damaged_texture_is_not_used(wheel: bytes, tmp_path: Path) -> None:
    (tmp_path / frost_textures.WHEEL).write_bytes(wheel)
    frost_textures.get_frost(tmp_path, tmp_path, lambda line: None)
    (tmp_path / "frost" / "frost2.png").write_bytes(b"x")
    assert not frost_textures.have_frost(tmp_path)


@pytest.mark.network
def test_the_real_wheel_has_the_real_textures(tmp_path: Path) -> None:
    frost_textures.get_frost(tmp_path, None, lambda line: None)
    assert frost_textures.have_frost(tmp_path)
    sizes = [texture.shape[:2] for texture in frost_textures.load_frost(tmp_path)]
    assert sizes == [(120, 180), (63, 112), (63, 112), (70, 105), (99, 132)]
