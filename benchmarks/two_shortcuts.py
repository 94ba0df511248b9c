"""Does a model that is trained against one shortcut lean on the other?

    python benchmarks/two_shortcuts.py OUT [--faces DATA] [--seeds 3] [--method flac] [--set KEY=VALUE ...]

Trains an ordinary model, one against each of two shortcuts, and one against both for every way to combine them; runs
that are in OUT already are not trained again.

Coloured digits with a frame: both colours go with the digit, each for 95 % of the images and independently. Every test
digit is shown with both colours of its class, with one of another class, and with both, so that every column is of all
1,000 digits. Faces of UTKFace: race and age (20 to 59, or 10 and younger) go with the gender, each for 90 % of 600 men
and 600 women; a head on frozen ImageNet features is tested on 800 other faces, 100 of each kind, and its bias models
have learnt race and age on 1,200 more.
"""

import argparse
import csv
import random
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

import fairflac
from fairflac.config.options import parse_assignments
from fairflac.data.base import BiasedDataset
from fairflac.data.sets.biased_mnist import BiasedDigits, add_frame, paint
from fairflac.data.sets.faces import ATTRIBUTES
from fairflac.data.sets.utkface import parse
from fairflac.losses.flac import Combine
from fairflac.runs.directory import Run, Workspace
from fairflac.training.pipeline import predict_run

Q = 0.95  # of digits
MATCHED = {"bias_output": "probabilities", "targets": "reachable"}  # features of one bias model show the other as well
PER_CLASS, PER_KIND, TAUGHT = 600, 100, 150  # faces: trained, tested, and for bias models, of a class or of each kind
DIFFER = 0.1


@cache
def painted(differs: tuple[int, int]) -> BiasedDataset:
    """All test digits, with colours of their own class or of others."""
    grey, y = BiasedDigits().digits(Path(), "test")
    data = BiasedDigits(frame_q=Q).load(Path(), "test")
    assert data is not None and np.array_equal(data.y, y)
    rng = np.random.default_rng(0)
    colour, frame = ((y + other * rng.integers(1, 10, len(y))) % 10 for other in differs)
    images = add_frame(paint(grey, colour), frame)
    return BiasedDataset(images, y, {"colour": colour, "frame": frame}, data.names, "test", data.task)


class Images(NamedTuple):
    """Settings of `fairflac.train`."""

    dataset: str
    shared: dict[str, Any]
    taught: dict[str, Any]  # of all bias models
    second: dict[str, Any]  # how that of the second shortcut differs


def digits(out: Path, seed: int) -> Images:
    """Single pixels show the colour of the background, and not where the frame is."""
    second = {"target": "frame", "kernel_size": 5, "epochs": 5, "lr": 3e-3}
    return Images("biased-digits", {"q": Q, "frame_q": Q}, {"q": 0.1, "frame_q": 0.1}, second)


def right_digits(run: Run, differs: tuple[int, int]) -> float:
    data = painted(differs)
    return float((predict_run(run, data).prediction == data.y).mean())


def faces(data: Path, out: Path, seed: int) -> Images:
    folder = out / f"faces-s{seed}"
    if not folder.exists():
        _write_faces(data, folder, random.Random(seed))
    shared = {"net": "frozen-resnet18", "path": str(folder / "faces.csv"), "allow_outside": True, "validation": 0.0}
    return Images("csv", shared, {"path": str(folder / "taught.csv"), "target": "race"}, {"target": "age"})


def _write_faces(data: Path, folder: Path, rng: random.Random) -> None:
    """Of every kind of face, by gender, race and age, some to train, some to test and some for bias models."""
    found: dict[tuple[int, int, int], list[str]] = {kind: [] for kind in product((0, 1), repeat=3)}
    seen: set[bytes] = set()  # some files are copies of others
    for path in sorted((data / "utkface" / "images").resolve().iterdir()):
        face, content = parse(path.name), sha256(path.read_bytes()).digest()
        if face and (face.age <= 10 or 20 <= face.age < 60) and content not in seen:
            seen.add(content)
            found[face.gender, int(face.race > 0), int(face.age <= 10)].append(str(path))
    names = [ATTRIBUTES[name].values for name in ("gender", "race", "age")]
    shown, taught = [], []
    for (gender, race, age), paths in found.items():
        rng.shuffle(paths)
        kind = [value[number] for value, number in zip(names, (gender, race, age), strict=True)]
        share = np.prod([DIFFER if value != gender else 1 - DIFFER for value in (race, age)])
        ends = np.cumsum([round(PER_CLASS * share), PER_KIND, TAUGHT])
        shown += [[path, "train", *kind] for path in paths[: ends[0]]]
        shown += [[path, "test", *kind] for path in paths[ends[0] : ends[1]]]
        taught += [[path, *kind] for path in paths[ends[1] : ends[2]]]
    folder.mkdir(parents=True)
    for name, rows, columns in (("faces", shown, ["path", "split"]), ("taught", taught, ["path"])):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([[*columns, "label", "race", "age"], *rows])


def right_faces(run: Run, differs: tuple[int, int]) -> float:
    table = run.predictions
    rows = np.all([table.aligned[name] != bool(one) for name, one in zip(("race", "age"), differs, strict=True)], 0)
    return float((table.prediction == table.y)[rows].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--faces", type=Path, metavar="DATA")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--method", default="flac")
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
    given = parser.parse_args()
    attributes = ("race", "age") if given.faces else ("colour", "frame")
    images: Callable[[Path, int], Images]
    images = partial(faces, given.faces) if given.faces else digits
    right = right_faces if given.faces else right_digits
    workspace = Workspace(given.out, *([given.faces] if given.faces else []), silent=True, logger="none")
    first, second = attributes
    against = ["nothing", f"the {first} alone", f"the {second} alone", *(f"both, {way}" for way in get_args(Combine))]
    own = (MATCHED if given.method == "flac" else {}) | parse_assignments(given.changes)
    columns = ["both agree", f"{first} differs", f"{second} differs", "both differ", "mean of the four"]
    print("\n".join([f"| trained against | {' | '.join(columns)} |", "|---" * 6 + "|"]), flush=True)
    for name in against:
        rows = []
        for seed in range(given.seeds):
            some = images(given.out.resolve(), seed)
            taught = some.taught | (some.second if name == f"the {second} alone" else {})
            settings = own | {f"bias_model.{key}": value for key, value in taught.items()}
            if name.startswith("both"):
                settings |= {"other_bias_models": [some.second], "combine": name.split()[-1]}
            method, settings = ("vanilla", {}) if name == "nothing" else (given.method, settings)
            run = fairflac.train(
                some.dataset, method, seed=seed, workspace=workspace, report=False, **some.shared, **settings
            )
            assert run is not None
            rows.append([100 * right(run, differs) for differs in ((0, 0), (1, 0), (0, 1), (1, 1))])
        means = [f"{mean:.1f}" for mean in (*np.mean(rows, 0), np.mean(rows))]
        each = ", ".join(f"{np.mean(row):.1f}" for row in rows)
        print(f"| {name} | {' | '.join(means)} ({each}) |", flush=True)


if __name__ == "__main__":
    main()
