"""Every kind of image comes out as RGB of the wanted size."""

import io

import numpy as np
import pytest
from PIL import Image

from fairflac.data.pixels import decode as module
from fairflac.data.pixels.decode import Unreadable, decode

RED, GREY, WHITE = (255, 0, 0), (128, 128, 128), (255, 255, 255)


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def transparent() -> Image.Image:
    image = Image.new("RGBA", (8, 8), (*RED, 255))
    image.paste((0, 0, 255, 0), (4, 0, 8, 8))
    return image


def cases() -> dict[str, tuple[bytes, tuple[int, int, int]]]:
    """Name → file, and the colour its left half has."""
    red = Image.new("RGB", (8, 8), RED)
    palette = transparent().quantize(4)
    return {
        "rgb": (encoded(red, "PNG"), RED),
        "jpeg": (encoded(red, "JPEG", quality=100), (254, 0, 0)),
        "webp": (encoded(red, "WEBP", lossless=True), RED),
        "bmp": (encoded(red, "BMP"), RED),
        "gif": (encoded(red, "GIF"), RED),
        "grey": (encoded(Image.new("L", (8, 8), 128), "PNG"), GREY),
        "grey and alpha": (encoded(Image.new("LA", (8, 8), (128, 255)), "PNG"), GREY),
        "one bit": (encoded(Image.new("1", (8, 8), 1), "PNG"), WHITE),
        "palette": (encoded(red.quantize(4), "PNG"), RED),
        "palette with transparency": (encoded(palette, "PNG"), RED),
        "cmyk": (encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "TIFF"), RED),
        "alpha": (encoded(transparent(), "PNG"), RED),
        "16 bit": (encoded(Image.fromarray(np.full((8, 8), 128 * 257, np.uint16)), "PNG"), GREY),
        "float": (encoded(Image.fromarray(np.full((8, 8), 128 / 255, np.float32)), "TIFF"), GREY),
    }


@pytest.mark.parametrize("name", cases())
def test_all_modes_become_rgb(name: str) -> None:
    content, colour = cases()[name]
    pixels = decode(content, (4, 4), "squash")
    assert pixels.shape == (4, 4, 3) and pixels.dtype == np.uint8
    np.testing.assert_allclose(pixels[:, 0], np.broadcast_to(colour, (4, 3)), atol=3)


def test_what_is_transparent_is_white() -> None:
    pixels = decode(encoded(transparent(), "PNG"), (8, 8), "squash")
    assert tuple(pixels[0, 7]) == WHITE and tuple(pixels[0, 0]) == RED


def test_exif_orientation_is_applied() -> None:
    image = Image.new("RGB", (8, 4), RED)
    image.paste(WHITE, (4, 0, 8, 4))  # red left, white right
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    pixels = decode(encoded(image, "PNG", exif=exif), (8, 4), "squash")
    assert tuple(pixels[0, 0]) == RED and tuple(pixels[7, 0]) == WHITE


def test_cover_takes_the_centre_and_squash_everything() -> None:
    image = Image.new("RGB", (30, 10), WHITE)
    image.paste(RED, (10, 0, 20, 10))
    assert (decode(encoded(image, "PNG"), (10, 10), "cover") == RED).all()
    squashed = decode(encoded(image, "PNG"), (10, 30), "squash")
    assert tuple(squashed[5, 0]) == WHITE and tuple(squashed[5, 15]) == RED


def test_a_bomb_is_refused_unopened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PIXELS", 99)
    with pytest.raises(Unreadable, match="10 x 10 pixels"):
        decode(encoded(Image.new("RGB", (10, 10)), "PNG"), (4, 4), "cover")


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n broken"])
def test_what_is_no_image_says_why(content: bytes) -> None:
    with pytest.raises(Unreadable, match=r"\w"):
        decode(content, (4, 4), "cover")


def test_a_truncated_file_is_not_half_an_image() -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8))
    with pytest.raises(Unreadable):
        decode(encoded(noise, "JPEG")[:1500], (64, 64), "cover")
