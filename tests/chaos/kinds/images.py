"""Images of all formats: damaged, larger than they look, or programs."""

import gzip
import random
import struct
import zlib
from functools import cache
from pathlib import Path

from chaos.kinds.case import Words, output, write
from chaos.mutations import NUMBERS, damaged
from chaos.world import World


def images(world: World, case: Path, rng: random.Random) -> Words:
    files = sorted((world.seeds / "images").iterdir())
    seed = rng.choice(files)
    form = seed.name.partition("-")[0].lower()
    if rng.random() < 0.2:
        form, content = rng.choice(BOMBS)(rng)
    elif rng.random() < 0.15:
        form, content = rng.choice(SIGNATURES)
        content += rng.randbytes(rng.choice((0, 4, 60, 4000)))
    else:
        content = damaged(rng, seed.read_bytes(), (rng.choice(files).read_bytes(),))
    if rng.random() < 0.1:
        form = rng.choice(("png", "jpg", "eps", "csv", ""))
    path = write(case, rng, f"image.{form}", content)
    command, said = rng.choice(("predict", "predict", "predict", "embed")), rng.choice(([], output(case, "said.csv")))
    words = [command, str(world.seeds / "ours.safetensors"), path, *rng.choice(([], ["--json"], ["--strict"]))]
    return [*words, *(output(case, "features.npy") if command == "embed" else said)]


def _png(width: int, height: int, data: bytes, *chunks: tuple[bytes, bytes], depth: int = 8, colour: int = 0) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    parts = [chunk(b"IHDR", head), *(chunk(*one) for one in chunks), chunk(b"IDAT", data), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@cache
def _zeros(length: int) -> bytes:
    """Compressed, made in pieces."""
    packer = zlib.compressobj(9)
    block = bytes(1 << 20)
    parts = [packer.compress(block[: min(1 << 20, length - done)]) for done in range(0, length, 1 << 20)]
    return b"".join([*parts, packer.flush()])


def _large_png(rng: random.Random) -> tuple[str, bytes]:
    """True to its header: just allowed, or just too large; in all depths and colours."""
    side = rng.choice((3000, 9990, 10_010))
    depth, colour, width = rng.choice(
        ((1, 0, 1), (8, 0, 8), (16, 0, 16), (8, 2, 24), (8, 6, 32), (16, 6, 64), (8, 3, 8))
    )
    if side > 5000 and rng.random() < 0.8:
        side = 3000
    rows = side * (1 + (side * width + 7) // 8)
    palette = ((b"PLTE", bytes(768)), (b"tRNS", b"\0")) if colour == 3 else ()
    return "png", _png(side, side, _zeros(rows), *palette, depth=depth, colour=colour)


def _declared_png(rng: random.Random) -> tuple[str, bytes]:
    width, height = (min(rng.choice(NUMBERS), 2**32 - 1) for _ in range(2))
    return "png", _png(width, height, zlib.compress(bytes(100)), colour=rng.choice((0, 2, 3, 6)))


def _text_png(rng: random.Random) -> tuple[str, bytes]:
    """A comment that unpacks to 200 MB."""
    name = rng.choice((b"zTXt", b"iTXt", b"iCCP"))
    body = {b"zTXt": b"k\0\0", b"iTXt": b"k\0\1\0\0\0", b"iCCP": b"k\0\0"}[name] + _zeros(200 << 20)
    return "png", _png(8, 8, zlib.compress(bytes(72)), (name, body))


def _declared_gif(rng: random.Random) -> tuple[str, bytes]:
    head = b"GIF89a" + struct.pack("<HHBBB", rng.choice((1, 65535)), 65535, 0x80, 0, 0) + bytes(6)
    return "gif", head + b"\x2c" + struct.pack("<HHHHB", 0, 0, 65535, rng.choice((1, 65535)), 0) + b"\x02\x02L\x01\x00;"


def _declared_bmp(rng: random.Random) -> tuple[str, bytes]:
    side = rng.choice((9999, 30_000, 2**31 - 1))
    return "bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 60, 0, 0, 54, 40, side, side, 1, 24, 0, 0, 0, 0, 0, 0)


def _declared_ppm(rng: random.Random) -> tuple[str, bytes]:
    kind = rng.choice(("P1", "P2", "P3", "P5", "P6", "Pf", "PF", "P7"))
    numbers = (str(rng.choice((*NUMBERS, 9999, -1))) for _ in range(3))
    return "ppm", f"{kind} {' '.join(numbers)}\n{'9' * rng.choice((10, 10**6))}".encode()


def _declared_tiff(rng: random.Random) -> tuple[str, bytes]:
    tags = [
        (256, rng.choice(NUMBERS)),
        (257, rng.choice(NUMBERS)),
        (258, 8),
        (259, rng.choice((1, 5, 7, 8, 32773))),
        (262, 1),
    ]
    tags += [(273, rng.choice((0, 8, 2**31))), (277, rng.choice((1, 3, 65535))), (278, 1), (279, rng.choice(NUMBERS))]
    body = b"".join(
        struct.pack("<HHII", tag, 4, rng.choice((1, 1, 1, 2**31)), value & 0xFFFFFFFF) for tag, value in tags
    )
    return "tif", b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + body + struct.pack("<I", rng.choice((0, 8)))


def _program_eps(rng: random.Random) -> tuple[str, bytes]:
    """A program in PostScript: nothing may run it."""
    body = rng.choice(("{} loop", "(%pipe%touch canary) (w) file", "(/etc/passwd) (r) file 1000 string readstring"))
    return (
        "eps",
        f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n%%EndComments\n{body}\nshowpage\n%%EOF\n".encode(),
    )


BOMBS = (
    _large_png,
    _declared_png,
    _text_png,
    _declared_gif,
    _declared_bmp,
    _declared_ppm,
    _declared_tiff,
    _program_eps,
)
# Formats that Pillow opens and does not write, by how they begin.
SIGNATURES = (
    ("fits", b"SIMPLE  =                    T" + b"BITPIX  =  8".ljust(80)),
    ("psd", b"8BPS\0\1" + bytes(6) + b"\0\3\0\0\0\x10\0\0\0\x10\0\x08\0\3"),
    ("ras", b"\x59\xa6\x6a\x95\0\0\0\x10\0\0\0\x10\0\0\0\x18"),
    ("xpm", b'/* XPM */\nstatic char *a[] = {\n"8 8 2 1",\n"a c #fff",\n'),
    ("cur", b"\0\0\2\0\1\0\x10\x10\0\0\1\0\1\0\0\1\0\0\x16\0\0\0"),
    ("dcx", b"\xb1\x68\xde\x3a\x0c\0\0\0"),
    ("fli", b"\0\x10\0\0\x11\xaf\1\0\x40\x01\xc8\0\x08\0"),
    ("ftc", b"FTEX\1\0\0\0\x10\0\0\0\x10\0\0\0"),
    ("gbr", b"\0\0\0\x1c\0\0\0\2\0\0\0\x08\0\0\0\x08\0\0\0\4GIMP"),
    ("iptc", b"\x1c\1\5\0\2"),
    ("imt", b"width 8\nheight 8\n\x0c"),
    ("pcd", bytes(2048) + b"PCD_"),
    ("pxr", b"\200\350\000\000" + bytes(500)),
    ("grib", b"GRIB\0\0\0\1"),
    ("bufr", b"BUFR\0\0\0\1"),
    ("h5", b"\x89HDF\r\n\x1a\n"),
    ("mpg", b"\0\0\1\xb3\x10\0\x10"),
    ("xv", b"P7 332\n#END\n8 8 255\n"),
    ("wmf", b"\xd7\xcd\xc6\x9a\0\0" + struct.pack("<hhhhH", 0, 0, 20, 20, 72)),
    ("emf", b"\1\0\0\0" + bytes(36) + b" EMF"),
    ("mcidas", b"\0" * 4 + b"\0\0\0\4"),
    ("jp2", b"\xff\x4f\xff\x51\0\x2f\0\0" + b"\x7f\xff\xff\xff" * 2),
    ("avif", b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf"),
    ("webp", b"RIFF\xff\xff\xff\x7fWEBPVP8X\x0a\0\0\0"),
    ("qoi", b"qoif\0\0\x27\x0f\0\0\x27\x0f\4\0"),
    ("tga", b"\0\0\x0a\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x20\0"),
    ("sgi", b"\1\xda\1\1\0\3\xff\xff\xff\xff\0\3"),
    ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
    ("pcx", b"\x0a\5\1\x08\0\0\0\0\xff\xff\xff\xff"),
    ("icns", b"icns\xff\xff\xff\xffic07"),
    ("ico", b"\0\0\1\0\1\0\0\0\0\0\1\0\x20\0\xff\xff\xff\x7f\x16\0\0\0"),
    ("dds", b"DDS \x7c\0\0\0" + b"\xff" * 20),
    ("blp", b"BLP2\1\0\0\0\2\x08\x08\0" + b"\xff\xff\0\0" * 2),
    ("im", b"Image type: RGB image\r\nImage size (x*y): 99999*99999\r\n"),
    ("gz", gzip.compress(b"x" * 1000)),
)
