"""How long commands take before they do anything, against `import torch`: `python benchmarks/startup.py [rounds]`.

Each is a process of its own; they take turns within a round, so that a busy machine slows all. Seconds of the
processor, medians. `predict` is of one image, with an exported model of two classes.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

PROGRAM = ("-m", "fairflac")
TRAIN = (*PROGRAM, "train", "biased-digits", "flac", "--set")


def model_and_image(folder: Path) -> tuple[str, str]:
    """A small model, trained on nothing to speak of, and an image for it."""
    import fairflac

    rng = np.random.default_rng(0)
    for label in ("above", "below"):
        (folder / "photos" / label).mkdir(parents=True)
        for i in range(12):
            pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "photos" / label / f"{i}.png")
    workspace = fairflac.Workspace(folder / "runs", folder / "data", silent=True, logger="none")
    settings = {"path": str(folder / "photos"), "size": 16, "epochs": 1, "batch_size": 8, "net": "simple-conv"}
    run = fairflac.train("folder", "vanilla", workspace=workspace, report=False, augment="none", **settings)
    fairflac.export(run, "safetensors", folder / "model.safetensors")
    return str(folder / "model.safetensors"), str(folder / "photos" / "above" / "0.png")


def processor_seconds(words: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        model, image = model_and_image(Path(folder))
        commands = {
            "import torch": ("-c", "import torch"),
            "--help": (*PROGRAM, "--help"),
            "a wrong name, --set alhpa=1": (*TRAIN, "alhpa=1"),
            "a wrong value, --set alpha=x": (*TRAIN, "alpha=x"),
            "a wrong word, --set kernel=x": (*TRAIN, "kernel=x"),
            "predict, one image": (*PROGRAM, "predict", model, image),
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds + 1):
            for name, words in commands.items():
                seconds[name].append(processor_seconds(words))
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}  # the first reads from the disk
    for name, median in medians.items():
        print(f"{name:30}{median:8.2f} s{median / medians['import torch']:8.2f}")


if __name__ == "__main__":
    main()
