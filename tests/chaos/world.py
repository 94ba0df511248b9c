"""Valid inputs of every kind, made on the spot: photos, a trained run, models, tables. Damage begins with these."""

import io
import json
import pickle
import random
import shutil
import tarfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

NET = "simple-conv kernel_size=3 channels=[2,2,2,2]"
TINY = {"size": 8, "epochs": 2, "net": "simple-conv", "kernel_size": 3, "channels": [2, 2, 2, 2], "batch_size": 8}
SETTINGS = {**TINY, "precision": "32-true", "augment": "none", "alpha": 0.1, "lr": 0.02}


@dataclass(frozen=True)
class World:
    """Where they lie."""

    root: Path

    @property
    def photos(self) -> Path:
        return self.root / "photos"

    @property
    def image(self) -> Path:
        return self.photos / "above" / "00.png"

    @property
    def seeds(self) -> Path:
        return self.root / "seeds"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def runs(self) -> list[Path]:
        """First the FLAC-B run, then its bias model."""
        return sorted(
            (one.parent for one in (self.root / "runs").rglob("done")), key=lambda one: "flac" not in str(one)
        )

    def seed(self, name: str) -> bytes:
        return (self.seeds / name).read_bytes()


def make_world(root: Path) -> World:
    world = World(root)
    if (root / "made").exists():
        return world
    shutil.rmtree(root, ignore_errors=True)
    world.seeds.mkdir(parents=True)
    _photos(world.photos)
    _trained(world)
    _images(world)
    _tables(world)
    _models(world)
    _arrays(world)
    (root / "made").touch()
    return world


def _photos(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for label in ("above", "below"):
        (folder / label).mkdir(parents=True)
        for i in range(18):
            image = rng.integers(0, 50, (12, 10 + i % 3, 3), dtype=np.uint8)
            image[slice(0, 6) if label == "above" else slice(6, None)] += np.uint8(80)
            image[..., 0 if (label == "above") == (i % 3 > 0) else 2] += np.uint8(120)
            Image.fromarray(image).save(folder / label / f"{i:02}.png")


def _trained(world: World) -> None:
    from fairflac.config.run_config import resolve
    from fairflac.runs.directory import Workspace
    from fairflac.training.pipeline import train_config

    config = resolve("folder", "flac-b", 0, {"path": str(world.photos), **SETTINGS})
    train_config(config, Workspace(world.root / "runs", world.data, silent=True, logger="none"))


def _images(world: World) -> None:
    """In every format that Pillow writes, in every mode that the format takes."""
    Image.init()
    (world.seeds / "images").mkdir()
    base = Image.open(world.image).convert("RGB").resize((24, 20))
    for kind in sorted(Image.SAVE):
        for mode in ("RGB", "RGBA", "L", "P", "1", "CMYK", "I;16", "F", "LA"):
            content = io.BytesIO()
            try:
                image = base.convert("L").convert("I").convert("I;16") if mode == "I;16" else base.convert(mode)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    image.save(content, kind)
            except (OSError, ValueError, KeyError, AttributeError):
                continue
            (world.seeds / "images" / f"{kind}-{mode.replace(';', '')}").write_bytes(content.getvalue())
    frames = io.BytesIO()
    base.save(frames, "GIF", save_all=True, append_images=[base.rotate(90)] * 3)
    (world.seeds / "images" / "GIF-frames").write_bytes(frames.getvalue())


def _tables(world: World) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    rng = random.Random(0)
    files = sorted(world.photos.rglob("*.png"))
    rows = [
        {
            "path": file.relative_to(world.root).as_posix(),
            "label": file.parent.name,
            "split": ("train", "val", "test")[i % 3],
            "colour": ("red", "blue")[i % 2],
        }
        for i, file in enumerate(files)
    ]
    write = world.seeds.joinpath
    for name, separator in (("table.csv", ","), ("table.tsv", "\t")):
        lines = [separator.join(rows[0]), *(separator.join(row.values()) for row in rows)]
        write(name).write_text("\n".join(lines) + "\n")
    write("table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    inside = [
        {**row, "image": {"bytes": file.read_bytes(), "path": None}} for row, file in zip(rows, files, strict=True)
    ]
    for row in inside:
        del row["path"]
    table = pa.Table.from_pylist(inside)
    pyarrow.parquet.write_table(table, write("table.parquet"))
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), write("paths.parquet"), compression="none")
    pyarrow.feather.write_feather(table, write("table.arrow"), compression="uncompressed")
    with tarfile.open(write("table.tar"), "w") as archive:
        for row, file in zip(rows, files, strict=True):
            archive.add(file, f"{file.parent.name}{file.name}")
            label = tarfile.TarInfo(f"{file.parent.name}{file.stem}.cls")
            label.size = len(row["label"])
            archive.addfile(label, io.BytesIO(row["label"].encode()))
    guessed = [
        "path,label,guess,confidence",
        *(f"{r['path']},{r['label']},{r['colour']},0.{i % 5 + 5}" for i, r in enumerate(rows)),
    ]
    write("groups.csv").write_text("\n".join(guessed) + "\n")
    said = ["file,label,prediction,score_cat,score_dog,sex,age"]
    for i in range(40):
        p = rng.random()
        said.append(
            f"{i}.png,{rng.choice(('cat', 'dog'))},{'cat' if p > 0.5 else 'dog'},{p:.3f},{1 - p:.3f},"
            f"{'mf'[i % 2]},{'old' if i % 3 else 'young'}"
        )
    write("predictions.csv").write_text("\n".join(said) + "\n")
    (config,) = (world.runs[0] / "config.toml",)
    write("config.toml").write_bytes(config.read_bytes())


def _models(world: World) -> None:
    import torch
    from safetensors.torch import save_file

    import fairflac
    from fairflac.nets.small import SimpleConvNet
    from foreign_models import onnx_file, torchscript

    for kind, name in (("safetensors", "ours.safetensors"), ("onnx", "ours.onnx"), ("torchscript", "ours.pt")):
        fairflac.export(world.runs[0], kind, world.seeds / name)
    torchscript(world.seeds / "foreign.pt")
    onnx_file(world.seeds / "foreign.onnx")
    state = SimpleConvNet(2, kernel_size=3, channels=(2, 2, 2, 2)).state_dict()
    save_file(state, world.seeds / "foreign.safetensors")
    torch.save(state, world.seeds / "weights.pt")
    torch.save({"epoch": 3, "state_dict": state}, world.seeds / "old.pth", _use_new_zipfile_serialization=False)
    (world.seeds / "plain.pkl").write_bytes(pickle.dumps({"fc.weight": [1.0, 2.0]}))


def _arrays(world: World) -> None:
    features = np.random.default_rng(0).normal(size=(36, 5)).astype(np.float32)
    features[:18, 0] += 3  # they tell the class
    np.save(world.seeds / "features.npy", features)
