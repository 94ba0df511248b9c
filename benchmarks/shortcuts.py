"""Does discovery know which guess is worth training against, and what does its choice cost?

    python benchmarks/shortcuts.py OUT --data DATA [--net NET] [--seeds 0] [--shares 0.95] [--only NAME ...]

Plants marks into faces of UTKFace (adults of 20 to 59, as many men as women) at five shares from 0.5, which is chance,
to 0.99, colours digits of MNIST, and takes UTKFace as it is biased in the paper. For each set `discover` names its best
guess, believed or not, and a head on frozen ImageNet features (with `--net resnet18` the whole network) is trained
without it, and against it. The test images have every mark as often as not; nothing but the last table sees what they
carry. A set that was measured is a line of OUT/results.jsonl, and is not measured again.
"""

import argparse
import csv
import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter
from scipy.stats import spearmanr

import fairflac
from fairflac.data.sets.biased_mnist import BiasedMNIST
from fairflac.data.sets.utkface import UTKFace, parse
from fairflac.runs.directory import Workspace

SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)
TRAINED, TESTED = 900, 400  # images of a class
FIXED = {"none": 0.5, "age": 10 / 11, "race": 10 / 11}  # as the paper skews UTKFace: one image against ten
Row = list[str]


def none(image: np.ndarray, on: bool) -> np.ndarray:
    """The control: the attribute says nothing of the image either."""
    return image


def tint(image: np.ndarray, on: bool) -> np.ndarray:
    return image * np.array([1.35, 1, 0.65] if on else [0.65, 1, 1.35])


def frame(image: np.ndarray, on: bool) -> np.ndarray:
    edge = np.ones(image.shape[:2], dtype=bool)
    edge[5:-5, 5:-5] = False
    return np.where((edge & on)[..., None], 255, image)


def corner(image: np.ndarray, on: bool) -> np.ndarray:
    marked = image.copy()
    marked[4:14, 4:14] = [255, 0, 0] if on else marked[4:14, 4:14]
    return marked


def blur(image: np.ndarray, on: bool) -> np.ndarray:
    picture = Image.fromarray(image.astype(np.uint8))
    return np.asarray(picture.filter(ImageFilter.GaussianBlur(1.5)) if on else picture)


def texture(image: np.ndarray, on: bool) -> np.ndarray:
    stripes = 25 * np.sin(np.arange(image.shape[1]) * np.pi / 2)
    return image + stripes[None, :, None] * on


def jpeg(image: np.ndarray, on: bool) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(image.astype(np.uint8)).save(stream, "jpeg", quality=15 if on else 95)
    return np.asarray(Image.open(stream))


MARKS: dict[str, Callable[[np.ndarray, bool], np.ndarray]] = {
    one.__name__: one for one in (none, tint, frame, corner, blur, texture, jpeg)
}


@dataclass(frozen=True)
class Case:
    """A set of images: its name says what is planted, into how many of a class, and the seed of both."""

    kind: str  # of MARKS, or colour, age, race
    share: float
    seed: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.share:g}-s{self.seed}"

    def write(self, folder: Path, data: Path) -> Path:
        """The images, and a table of them with the attribute."""
        folder.mkdir(parents=True, exist_ok=True)
        make = {"age": utkface, "race": utkface, "colour": digits}.get(self.kind, faces)
        path = folder / "images.csv"
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([["path", "label", "split", "attribute"], *make(self, folder, data)])
        return path


def faces(case: Case, folder: Path, data: Path) -> Iterator[Row]:
    rng, mark = random.Random(case.seed), MARKS[case.kind]
    labelled = [(path, parse(path.name)) for path in sorted((data / "utkface" / "images").iterdir())]
    for gender, label in enumerate(("male", "female")):
        some = [path for path, face in labelled if face and face.gender == gender and 20 <= face.age < 60]
        for place, path in enumerate(rng.sample(some, TRAINED + TESTED)):
            tested = place < TESTED
            on = place % 2 == 0 if tested else (gender == 0) == (rng.random() < case.share)
            with Image.open(path) as image:
                marked = mark(np.asarray(image.convert("RGB")).astype(np.float32), on)
            name = f"{path.name.split('.')[0]}.png"
            Image.fromarray(marked.clip(0, 255).astype(np.uint8)).save(folder / name)
            yield [name, label, "test" if tested else "train", "on" if on else "off"]


def digits(case: Case, folder: Path, data: Path) -> Iterator[Row]:
    """Ten classes, ten colours; q is the share, and a tenth where the colour says nothing."""
    for split, count in (("train", 3000), ("test", 1500)):
        images = BiasedMNIST(case.seed, q=0.1 if case.share == 0.5 else case.share).load(data, split)
        assert images is not None
        for index in np.random.default_rng(case.seed).permutation(len(images))[:count].tolist():
            name = f"{split}-{index}.png"
            Image.fromarray(images.images[index]).save(folder / name)
            yield [name, str(images.y[index]), split, str(images.bias["colour"][index])]


def utkface(case: Case, folder: Path, data: Path) -> Iterator[Row]:
    for split in ("train", "test"):
        images = UTKFace(case.seed, bias=case.kind).load(data, split)
        assert images is not None
        for name, y, value in zip(images.names, images.y, images.bias[case.kind], strict=True):
            path = (data / "utkface" / "images" / str(name).rsplit("/", 1)[-1]).resolve()
            yield [str(path), str(y), split, str(value)]


def measure(case: Case, out: Path, data: Path, net: str) -> dict[str, Any]:
    folder, workspace = out / case.name, Workspace(out / "runs", data)
    path = case.write(folder, data)
    shared: dict[str, Any] = {"seed": case.seed, "workspace": workspace, "allow_outside": True}
    found = fairflac.discover(path, output=folder / "found", **shared)
    best = found.rounds[0].best
    belief = best.belief
    # A guess that is not believed is trained against all the same, as one that a person gives.
    given = None if belief.believed else folder / "found" / "groups.csv"
    made = fairflac.debias(path, output=folder / "models", attribute_from=given, settings={"net": net}, **shared)
    quality = made.runs["flac"].result["bias_model_quality"]
    halves = [f"{half}.{key}" for half in ("same_target", "different_target") for key in ("precision", "recall")]
    tests = {name: run.result["test"] for name, run in made.runs.items()}
    return {
        "set": case.name,
        "witness": f"{best.witness}, {best.features}",
        "pairs": [quality[key] for key in halves],
        "believed": belief.believed,
        "score": belief.score,
        "follows": 0.0 if belief.lean is None else belief.lean.difference.value,
        "separation": belief.separation.value,
        "kept": made.choice.kept if belief.believed else "vanilla",
        **{key: {name: test[key] for name, test in tests.items()} for key in ("unbiased", "conflicting")},
    }


def measured(cases: list[Case], out: Path, data: Path, net: str) -> list[dict[str, Any]]:
    record = out / "results.jsonl"
    known = {line["set"]: line for line in map(json.loads, record.read_text().splitlines() if record.exists() else [])}
    for case in cases:
        if case.name in known:
            continue
        known[case.name] = measure(case, out, data, net)
        with record.open("a") as stream:
            stream.write(json.dumps(known[case.name]) + "\n")
        shutil.rmtree(out / case.name)
    return [known[case.name] for case in cases]


def line(one: dict[str, Any]) -> str:
    """Of the table: what was guessed and how far it is believed, then what each model has, in % of test images."""
    unbiased, kept = one["unbiased"], one["kept"]
    pairs = "{:.2f} / {:.2f}, {:.2f} / {:.2f}".format(*one["pairs"])
    belief = " ".join(f"{one[key]:.2f}" for key in ("follows", "separation", "score"))
    scores = " | ".join(f"{100 * unbiased[name]:.1f}" for name in unbiased)
    believed = "yes" if one["believed"] else "no"
    lost = 100 * (max(unbiased.values()) - unbiased[kept])
    return f"| {one['set']} | {one['witness']} | {pairs} | {belief} | {believed} | {scores} | {kept} | {lost:.1f} |"


def summary(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Which number predicts the gain, and what choosing by it costs."""
    gain = np.array([100 * (max(one["unbiased"].values()) - one["unbiased"]["vanilla"]) for one in lines])
    kept = np.array([100 * (one["unbiased"][one["kept"]] - one["unbiased"]["vanilla"]) for one in lines])
    trained = np.array([100 * (one["unbiased"]["flac"] - one["unbiased"]["vanilla"]) for one in lines])
    for key in ("score", "follows", "separation"):
        values = np.array([one[key] for one in lines])
        yield f"{key}: rank correlation with the gain of flac {spearmanr(values, trained).statistic:.2f}"
    for believed in (True, False):
        rows = np.array([one["believed"] is believed for one in lines])
        if rows.any():
            word = "believed" if believed else "not believed"
            of_flac, of_kept = trained[rows], kept[rows]
            yield (
                f"{word}: {rows.sum()} sets; flac gains {of_flac.mean():.1f} points ({of_flac.min():.1f} to "
                f"{of_flac.max():.1f}), what is kept {of_kept.mean():.1f} (at worst {of_kept.min():.1f}), the best "
                f"of the models {gain[rows].mean():.1f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--net", default="frozen-resnet18")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES)
    parser.add_argument("--only", nargs="*", default=[*MARKS, "colour", "age", "race"])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    planted = [kind for kind in asked.only if kind not in FIXED]
    cases = [Case(kind, share, seed) for seed in asked.seeds for kind in planted for share in asked.shares]
    cases += [Case(kind, FIXED[kind], seed) for seed in asked.seeds for kind in asked.only if kind in FIXED]
    lines = measured(cases, asked.out.resolve(), asked.data.resolve(), asked.net)
    print("| set | witness, features | pairs | follows, separation, score | believed |", end="")
    models = list(lines[0]["unbiased"])
    print(*(f" {name} |" for name in models), "kept | regret |")
    print("|---" * (7 + len(models)) + "|")
    print("\n".join(map(line, lines)))
    print("\n".join(summary(lines)))


if __name__ == "__main__":
    main()
