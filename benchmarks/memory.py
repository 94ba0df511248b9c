"""How much memory commands take, by images: `python benchmarks/memory.py [--images 1000 10000] [--only COMMAND]`.

Images of 16 x 16 pixels in a folder, so that what grows is what is kept of each image, and not its pixels. Every
command is a process of its own with one thread; its memory is the peak of what was resident (pages of mapped files
count too) above that of `import torch`. The exponent is the slope of a line through the logarithms: 1 is growth in
proportion, 0 none; KB are those of each further image. What takes longer than `--most` seconds is stopped, and says so.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

SIDE, ALIGNED = 16, 0.95
SETTINGS = {"size": SIDE, "net": "simple-conv", "kernel_size": 3, "channels": "[8,8,16,16]", "augment": "none"}


class Cost(NamedTuple):
    """What a process took; `code` is -9 if it was stopped."""

    megabytes: float
    seconds: float
    code: int


def draw(folder: Path, images: int) -> None:
    """Dark and light images with noise; those of a class have mostly one colour."""
    rng = np.random.default_rng(0)
    for number in range(images):
        y = number % 2
        red = y if rng.random() < ALIGNED else 1 - y
        pixels = rng.integers(0, 60, (SIDE, SIDE, 3), dtype=np.uint8)
        pixels[4:12, 4:12] += np.uint8(60 + 90 * y)
        pixels[..., 2 * red] += np.uint8(40)
        place = folder / ("dark", "light")[y]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number:06}.png", compress_level=1)


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """By name, in an order in which each finds what it needs; the run is there once `train` has ended."""
    photos, data = str(folder / "photos"), ["--data", str(folder / "data")]
    changes = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    yield "data check", ["data", "check", photos, *data]
    once = ["--set", "epochs=1", "--set", "bias_model.epochs=1", "--set", f"path={photos}", "--no-report"]
    yield "train", ["train", "folder", "flac-b", *changes, *once, *data, "--runs", str(folder / "runs")]
    if not (made := [done.parent for done in (folder / "runs").rglob("flac-b/*/done")]):
        return  # it took too long
    run = str(made[0])
    yield "evaluate", ["evaluate", run, *data]
    yield "predict", ["predict", run, photos, "-o", str(folder / "said.csv")]
    yield "embed", ["embed", run, photos, "-o", str(folder / "features.npy")]
    features = ["--features", str(folder / "features.npy")]
    yield "discover", ["discover", photos, *features, *data, "-o", str(folder / "groups")]
    yield "audit", ["audit", run, photos, *data, "-o", str(folder / "audit.html")]
    yield "debias", ["debias", photos, *changes, "--set", "epochs=1", *data, "-o", str(folder / "debiased")]
    yield "report", ["report", run, "-o", str(folder / "page.html")]
    yield "export", ["export", run, "--to", "safetensors", "-o", str(folder / "model.safetensors")]


def slope(images: list[int], megabytes: list[float]) -> float:
    return float(np.polyfit(np.log(images), np.log(np.maximum(megabytes, 1)), 1)[0])


def cost(words: list[str], most: float) -> Cost:
    """Of a process and what it waits for: the largest of them, and at least what this process holds itself."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, env={**os.environ, "OMP_NUM_THREADS": "1"})
        clock = threading.Timer(most, process.kill)
        clock.start()
        _, status, used = os.wait4(process.pid, 0)
        clock.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if code not in (0, -9):
            print(said.read().decode(errors="replace")[-2000:], file=sys.stderr)
    return Cost(used.ru_maxrss / 1024, time.monotonic() - start, code)


def measure(images: int, only: list[str], most: float, base: float) -> dict[str, Cost]:
    found = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        draw(Path(name) / "photos", images)
        for command, words in commands(Path(name)):
            if only and command not in (*only, "train", "embed"):  # which others need
                continue
            spent = cost([sys.executable, "-m", "fairflac", *words], most)
            found[command] = Cost(spent.megabytes - base, spent.seconds, spent.code)
            print(f"{images:7} {command:12}{shown(found[command]):>8} MB{spent.seconds:8.0f} s", flush=True)
    return found


def shown(one: Cost | None) -> str:
    if one is None or one.code:
        return "" if one is None else "too long" if one.code == -9 else "failed"
    return f"{one.megabytes:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--only", action="append", default=[], help="this command; all without it")
    parser.add_argument("--most", type=float, default=600, help="seconds for one command")
    asked = parser.parse_args()
    base = cost([sys.executable, "-c", "import torch"], asked.most).megabytes
    print(f"import torch: {base:.0f} MB")
    found = {images: measure(images, asked.only, asked.most, base) for images in asked.images}
    print(
        "| command | " + " | ".join(f"{images:,}" for images in found) + " | exponent | KB an image | s of the last |"
    )
    for command in found[asked.images[0]]:
        row = [found[images].get(command) for images in asked.images]
        print(f"| {command} | {' | '.join(map(shown, row))} | {growth(dict(zip(asked.images, row, strict=True)))} |")


def growth(by_images: dict[int, Cost | None]) -> str:
    """Exponent, KB for each further image, and seconds of the largest number that was done."""
    done = {images: one for images, one in by_images.items() if one and one.code == 0}
    if len(done) < 2:
        return "| | "
    least, most = min(done), max(done)
    exponent = slope(list(done), [one.megabytes for one in done.values()])
    each = (done[most].megabytes - done[least].megabytes) * 1024 / (most - least)
    return f"{exponent:.2f} | {each:.1f} | {done[most].seconds:.0f}"


if __name__ == "__main__":
    main()
