"""What is tried: for each kind of input a function that writes one and says with which command it is used."""

import gzip
import io
import json
import os
import pickle
import random
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from chaos.mutations import HOSTILE, NUMBERS, TOKENS, damaged, file_name, hostile, misspelt
from chaos.world import NET, SETTINGS, World

Words = list[str]
Trial = Callable[[World, Path, random.Random], Words]  # writes below the folder of a case → words after `fairflac`


@dataclass(frozen=True)
class Kind:
    name: str
    share: float  # of all inputs
    trial: Trial


KINDS: dict[str, Kind] = {}


def kind(name: str, share: float) -> Callable[[Trial], Trial]:
    def register(trial: Trial) -> Trial:
        KINDS[name] = Kind(name, share, trial)
        return trial

    return register


def _write(case: Path, rng: random.Random, usual: str, content: bytes) -> str:
    path = case / "in" / file_name(rng, usual)
    path.write_bytes(content)
    return str(path)


def _output(case: Path, name: str) -> Words:
    return ["-o", str(case / "out" / name)]


def _settings(**changes: Any) -> Words:
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


# Images


@kind("images", 0.22)
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
    path = _write(case, rng, f"image.{form}", content)
    command = rng.choice(("predict", "predict", "predict", "embed"))
    model = str(world.seeds / "ours.safetensors")
    return [
        command,
        model,
        path,
        *rng.choice(([], ["--json"], ["--strict"])),
        *(_output(case, "features.npy") if command == "embed" else rng.choice(([], _output(case, "said.csv")))),
    ]


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


# Tables


def _table_commands(world: World, path: str, rng: random.Random, case: Path) -> Words:
    model = str(world.seeds / "ours.safetensors")
    data = ["--data", str(case / "out" / "data")]
    extra = rng.choice(
        ([], [], ["--allow-outside"], ["--path-column", hostile(rng)], ["--label-column", hostile(rng)], ["--strict"])
    )
    choices: tuple[Words, ...] = (
        ["data", "check", path, *data, *extra],
        ["data", "check", path, *data, "--json"],
        [
            "predict",
            model,
            path,
            *[word for word in extra if "label" not in word][: 0 if "--label-column" in extra else None],
        ],
        [
            "train",
            "csv",
            "vanilla",
            *_settings(path=path, **SETTINGS),
            *data,
            "--runs",
            str(case / "out"),
            "--no-report",
            "--logger",
            "none",
        ],
    )
    return rng.choices(choices, (4, 2, 3, 0.3))[0]


def _beside_photos(world: World, case: Path) -> None:
    (case / "in" / "photos").symlink_to(world.photos, target_is_directory=True)


@kind("csv and tsv tables", 0.14)
def tables(world: World, case: Path, rng: random.Random) -> Words:
    name = rng.choice(("table.csv", "table.tsv"))
    text = (
        _hostile_cells(rng, world.seed(name).decode())
        if rng.random() < 0.4
        else misspelt(rng, world.seed(name).decode())
    )
    content = _encoded(text) if rng.random() < 0.9 else text.encode(rng.choice(("utf-16", "utf-8-sig")), "replace")
    if rng.random() < 0.1:
        content = damaged(rng, content)
    _beside_photos(world, case)
    return _table_commands(world, _write(case, rng, name, content), rng, case)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _hostile_cells(rng: random.Random, text: str) -> str:
    """Whole columns renamed, and values that a table may well have: every `above` becomes something else."""
    for word in rng.sample(
        ("above", "below", "red", "blue", "label", "colour", "split", "train", "path", "cat", "dog", "sex"), 3
    ):
        name = hostile(rng)[:5000]
        quoted = '"' + name.replace('"', '""') + '"'
        text = text.replace(f",{word}", f",{quoted}").replace(f"\t{word}", f"\t{quoted}")
    return text


@kind("json lines", 0.04)
def json_lines(world: World, case: Path, rng: random.Random) -> Words:
    text = misspelt(rng, world.seed("table.jsonl").decode())
    _beside_photos(world, case)
    return _table_commands(world, _write(case, rng, "table.jsonl", _encoded(text)), rng, case)


@kind("parquet and arrow", 0.08)
def parquet(world: World, case: Path, rng: random.Random) -> Words:
    name = rng.choice(("table.parquet", "paths.parquet", "table.arrow"))
    content = world.seed(name)
    if name.endswith("parquet") and rng.random() < 0.5:  # the footer is where the sizes are
        cut = len(content) - rng.randrange(8, 900)
        content = content[:cut] + damaged(rng, content[cut:])
    else:
        content = damaged(rng, content)
    _beside_photos(world, case)
    return _table_commands(world, _write(case, rng, name, content), rng, case)


@kind("groups.csv", 0.04)
def groups(world: World, case: Path, rng: random.Random) -> Words:
    text = world.seed("groups.csv").decode()
    text = _hostile_cells(rng, text) if rng.random() < 0.3 else misspelt(rng, text)
    _beside_photos(world, case)
    path = _write(case, rng, "groups.csv", _encoded(text))
    settings = _settings(path=world.photos, groups=path, **{**SETTINGS, "epochs": 1})
    where = ["--runs", str(case / "out"), "--data", str(world.data), "--no-report", "--logger", "none"]
    return ["train", "folder", "flac-b", *settings, *where]


@kind("predictions.csv", 0.10)
def predictions_csv(world: World, case: Path, rng: random.Random) -> Words:
    text = world.seed("predictions.csv").decode()
    text = _hostile_cells(rng, text) if rng.random() < 0.4 else misspelt(rng, text)
    path = _write(case, rng, "predictions.csv", _encoded(text))
    extra = rng.choice(
        (
            [],
            [],
            ["--json"],
            ["--attribute", "sex"],
            ["--positive", "cat"],
            ["--score-prefix", "score_"],
            ["--prediction-column", hostile(rng)],
        )
    )
    page = _output(case, "page.html") if rng.random() < 0.15 else []
    return ["audit", path, *extra, *page]


# Configs and arrays


@kind("toml configs", 0.08)
def configs(world: World, case: Path, rng: random.Random) -> Words:
    text = world.seed("config.toml").decode()
    draw = rng.random()
    if draw < 0.1:
        deep = rng.choice((10, 500, 5000, 100_000))
        text = rng.choice(
            (f"a = {'[' * deep}", f"a = {'[' * deep}{']' * deep}\n", f"{'a.' * deep}a = 1\n", f"a = {'{b=' * deep}")
        )
    elif draw < 0.2:
        text += f"\n[train]\n{hostile(rng)} = {rng.choice(TOKENS)}\n"
    else:
        text = misspelt(rng, text)
    path = _write(case, rng, "config.toml", _encoded(text))
    bounded = _settings(epochs=1, batch_size=8, size=8, net="simple-conv", channels=[2, 2, 2, 2], kernel_size=3)
    where = ["--runs", str(case / "out"), "--data", str(world.data), "--no-report", "--logger", "none"]
    return ["train", "--config", path, *bounded, *where]


@kind("npy features", 0.04)
def features(world: World, case: Path, rng: random.Random) -> Words:
    content = world.seed("features.npy")
    if rng.random() < 0.4:
        shape = tuple(rng.choice((*NUMBERS, 36)) for _ in range(rng.choice((0, 1, 2, 2, 3, 40))))
        dtype = rng.choice(("<f4", "<f8", "|O", "<U99999999", "|V2147483647", "<M8[s]", "<c16", "junk"))
        head = repr({"descr": dtype, "fortran_order": rng.random() < 0.5, "shape": shape}).encode()
        content = (
            b"\x93NUMPY\1\0" + struct.pack("<H", len(head) + 1) + head + b"\n" + rng.randbytes(rng.choice((0, 720)))
        )
        if dtype == "|O":
            content += pickle.dumps(_Payload(str(case / "canary")))
    else:
        content = damaged(rng, content)
    path = _write(case, rng, "features.npy", content)
    return ["discover", str(world.photos), "--features", path, "--data", str(world.data), *_output(case, "groups")]


# Models


class _Payload:
    """Runs a command when it is unpickled by somebody careless."""

    def __init__(self, canary: str) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.canary}'",)


def _model_command(world: World, path: str, rng: random.Random, case: Path) -> Words:
    extra = rng.choice(
        (
            ["--size", "8"],
            ["--size", "8", "--net", NET],
            ["--net", NET, "--size", "8"],
            [],
            ["--size", str(rng.choice((0, 1, 8, 10**6)))],
        )
    )
    command = rng.choice(("predict", "predict", "predict", "embed"))
    return [command, path, str(world.image), *extra, *(_output(case, "features.npy") if command == "embed" else [])]


@kind("safetensors", 0.05)
def safetensors(world: World, case: Path, rng: random.Random) -> Words:
    content = world.seed(rng.choice(("ours.safetensors", "foreign.safetensors")))
    length = struct.unpack("<Q", content[:8])[0]
    if rng.random() < 0.5:
        head = content[8 : 8 + length].decode()
        head = misspelt(rng, head.replace(",", ",\n")) if rng.random() < 0.7 else _noted(rng, json.loads(head))
        raw = _encoded(head)
        claimed = len(raw) if rng.random() < 0.8 else rng.choice(NUMBERS)
        content = struct.pack("<Q", claimed) + raw + content[8 + length :]
    else:
        content = damaged(rng, content)
    return _model_command(world, _write(case, rng, "model.safetensors", content), rng, case)


def _noted(rng: random.Random, head: dict[str, Any]) -> str:
    """A file of ours whose metadata says something else."""
    notes = json.loads(head.get("__metadata__", {}).get("fairflac", "{}"))
    if notes:
        key = rng.choice(list(notes))
        notes[key] = rng.choice(
            (
                None,
                [],
                {},
                -1,
                0,
                10**6,
                [10**6, 10**6],
                "x",
                [hostile(rng), hostile(rng)],
                {"x": 1},
                [0, 0],
                1e308,
                [0.0] * 3,
            )
        )
    return json.dumps({**head, "__metadata__": {"fairflac": json.dumps(notes)}})


@kind("onnx", 0.04)
def onnx(world: World, case: Path, rng: random.Random) -> Words:
    content = damaged(rng, world.seed(rng.choice(("ours.onnx", "foreign.onnx"))))
    return _model_command(world, _write(case, rng, "model.onnx", content), rng, case)


@kind("torchscript", 0.04)
def torchscript(world: World, case: Path, rng: random.Random) -> Words:
    content = world.seed(rng.choice(("ours.pt", "foreign.pt")))
    content = damaged(rng, content) if rng.random() < 0.4 else _zip_damaged(rng, content, case)
    return _model_command(world, _write(case, rng, "model.pt", content), rng, case)


def _zip_damaged(rng: random.Random, content: bytes, case: Path) -> bytes:
    """One member changed, so that checksums and the directory still hold; or with a pickle that runs a command."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w") as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            body = old.read(name)
            if name == chosen:
                body = _member(rng, name, body, case)
            if body is not None:
                new.writestr(name if rng.random() < 0.98 else f"../../{name}", body)
    return result.getvalue()


def _member(rng: random.Random, name: str, body: bytes, case: Path) -> bytes | None:
    draw = rng.random()
    if draw < 0.1:
        return None
    if name.endswith("data.pkl") and draw < 0.6:
        return pickle.dumps(_Payload(str(case / "canary")), protocol=2)
    if name.endswith(".py") and draw < 0.6:
        return _encoded(misspelt(rng, body.decode(errors="replace")))
    return damaged(rng, body)


@kind("pickles and checkpoints", 0.05)
def checkpoints(world: World, case: Path, rng: random.Random) -> Words:
    draw = rng.random()
    if draw < 0.2:
        content = pickle.dumps({"state_dict": _Payload(str(case / "canary"))}, protocol=rng.choice((0, 2, 4)))
    elif draw < 0.5:
        content = _zip_damaged(rng, world.seed("weights.pt"), case)
    else:
        content = damaged(rng, world.seed(rng.choice(("weights.pt", "old.pth", "plain.pkl"))))
    path = _write(case, rng, rng.choice(("weights.pt", "weights.pth", "model.bin")), content)
    if rng.random() < 0.1:
        where = ["--runs", str(case / "out"), "--data", str(world.data), "--no-report", "--logger", "none"]
        return ["train", "folder", "vanilla", *_settings(path=world.photos, weights=path, **SETTINGS), *where]
    return [*_model_command(world, path, rng, case)[:3], "--net", NET, "--size", "8"][: None if draw < 0.9 else 3]


# Runs


def _damage_file(rng: random.Random, path: Path, case: Path) -> None:
    content = path.read_bytes()
    if path.suffix in (".json", ".jsonl", ".toml", ".txt") and rng.random() < 0.7:
        if path.suffix == ".json" and rng.random() < 0.4:
            content = json.dumps(_other_value(rng, json.loads(content))).encode()
        else:
            content = _encoded(misspelt(rng, content.decode()))
    elif path.suffix == ".npz" and rng.random() < 0.6:
        content = _other_arrays(rng, content)
    elif path.suffix == ".pt" and rng.random() < 0.6:
        content = _zip_damaged(rng, content, case)
    else:
        content = damaged(rng, content)
    path.write_bytes(content)


def _other_value(rng: random.Random, found: Any) -> Any:
    """The same structure, with one value somewhere of another kind."""
    inner = [key for key, value in found.items() if isinstance(value, dict)] if isinstance(found, dict) else []
    if inner and rng.random() < 0.6:
        key = rng.choice(inner)
        return {**found, key: _other_value(rng, found[key])}
    if not isinstance(found, dict) or not found:
        return rng.choice((None, [], "x"))
    key = rng.choice(list(found))
    changed = rng.choice(
        (None, [], {}, -1, 10**30, "x", hostile(rng), [hostile(rng)] * 2, True, 1e308, float("nan"), "drop")
    )
    return {k: v for k, v in {**found, key: changed}.items() if v != "drop"}


def _other_arrays(rng: random.Random, content: bytes) -> bytes:
    """A table of predictions with one column of other values, another type, another length, or packed to nothing."""
    with np.load(io.BytesIO(content)) as stored:
        columns = {name: stored[name] for name in stored.files}
    name = rng.choice(list(columns))
    old = columns[name]
    draw = rng.randrange(8)
    if draw == 0:
        del columns[name]
    elif draw == 1:
        columns[rng.choice(("bias.x", "bias.", "aligned.x", "odd", f"bias.{hostile(rng)[:50]}".replace("/", "")))] = old
    elif draw == 2:
        columns[name] = old[:-1] if old.ndim else np.array([1])
    elif draw == 3:
        columns[name] = np.full(old.shape, rng.choice((-1, 10**9, 2**40, float("nan"), float("inf"))))
    elif draw == 4:
        columns[name] = np.full(old.shape, hostile(rng)[:50])
    elif draw == 5:
        columns[name] = np.zeros((0, *old.shape[1:]), old.dtype)
    elif draw == 6:
        columns[name] = old[..., None]
    else:
        columns[name] = np.zeros((rng.choice((1, 40_000_000, 400_000_000)),), np.uint8)
    result = io.BytesIO()
    np.savez_compressed(result, **{name.encode(errors="replace").decode(): column for name, column in columns.items()})
    return result.getvalue()


RUN_COMMANDS = ("evaluate", "compare", "predict", "export", "report", "figures", "train", "embed", "audit")


@kind("run directories", 0.08)
def run_directories(world: World, case: Path, rng: random.Random) -> Words:
    flac, plain = world.runs
    run = case / "in" / file_name(rng, "run")
    shutil.copytree(flac if rng.random() < 0.8 else plain, run)
    files = sorted(
        one
        for one in run.iterdir()
        if one.is_file() and one.suffix in (".json", ".jsonl", ".toml", ".txt", ".npz", ".npy", ".pt")
    )
    for _ in range(rng.choice((1, 1, 2))):
        victim = rng.choice(files)
        if rng.random() < 0.1:
            victim.unlink(missing_ok=True)
        elif victim.exists():
            _damage_file(rng, victim, case)
    command = rng.choices(RUN_COMMANDS, (4, 4, 4, 1, 1, 1, 1, 3, 0))[0]
    more: dict[str, Words] = {
        "evaluate": ["--data", str(world.data), *rng.choice(([], ["--json"], ["--retrieval"]))],
        "compare": [str(plain)],
        "predict": [str(world.image)],
        "export": ["--to", rng.choice(("safetensors", "torchscript")), *_output(case, "export/model.pt")],
        "report": _output(case, "page.html"),
        "figures": [*_output(case, "figures"), *_words("--only", rng, ("group-accuracy", "training-curves"))],
        "embed": [str(world.image), *_output(case, "features.npy")],
    }
    if command == "export":
        more["export"][-1] = str(
            case / "out" / ("model.safetensors" if more["export"][1] == "safetensors" else "model.pt")
        )
    if command == "train":
        settings = _settings(epochs=2)
        where = ["--runs", str(case / "out"), "--data", str(world.data), "--no-report", "--logger", "none"]
        return ["train", "--config", str(run), *settings, *where]
    return [command, str(run), *more[command]]


def _words(option: str, rng: random.Random, known: tuple[str, ...]) -> Words:
    return [option, rng.choice(known)]


# Command lines

COMMANDS = (
    "train",
    "tune",
    "evaluate",
    "predict",
    "embed",
    "export",
    "debias",
    "discover",
    "audit",
    "compare",
    "figures",
    "report",
    "reproduce",
    "list",
    "data check",
    "data make-csv",
    "data get",
    "demo",
    "doctor",
    "serve",
)
OPTIONS = (
    "--seed",
    "--set",
    "--runs",
    "--data",
    "--net",
    "--size",
    "--classes",
    "--top",
    "--split",
    "--to",
    "--only",
    "--json",
    "--strict",
    "--quiet",
    "--config",
    "--precision",
    "--devices",
    "--witness",
    "--features",
    "--attribute",
    "--time",
    "--name",
    "--on",
    "--plugin",
    "--scale",
    "--executor",
    "--path-column",
    "--label-column",
    "--output",
    "-o",
    "--csv",
    "--resume",
    "--trials",
    "--port",
    "--logger",
    "--version",
)
LONG = (
    "demo",
    "serve",
    "reproduce",
    "train",
    "tune",
    "debias",
    "data get",
    "doctor",
    "discover",
)  # where valid words mean long work


@kind("command lines", 0.10)
def command_lines(world: World, case: Path, rng: random.Random) -> Words:
    command = rng.choice(COMMANDS) if rng.random() < 0.97 else hostile(rng)
    known = (
        str(world.image),
        str(world.photos),
        str(world.runs[0]),
        str(world.seeds / "ours.safetensors"),
        "biased-digits",
        "flac",
        "methods",
        "table2",
        "csv",
    )
    pool = (*known, *HOSTILE, *TOKENS, "epochs=1", "alpha=x", "epochs=", "=", "a=b=c", "lr=nan", "channels=[", "seed=1")
    words = command.split(" ") if command in COMMANDS else [command]
    for _ in range(rng.randrange(6)):
        words.append(
            rng.choice(OPTIONS) if rng.random() < 0.4 else rng.choice(known if rng.random() < 0.5 else pool)[:20_000]
        )
    if command in LONG:  # something that no version will ever take, so that nothing long begins
        words.insert(
            rng.randrange(len(command.split(" ")), len(words) + 1),
            rng.choice(("--no-such-option", "--seed=x", "--json=maybe")),
        )
    return [word.replace("\0", "") for word in words]
