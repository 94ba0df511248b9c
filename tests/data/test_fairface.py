import csv
import tarfile
from pathlib import Path

import numpy as np
import pytest

from data.portraits import draw
from fairflac.config.run_config import resolve
from fairflac.data import DATASETS
from fairflac.data.sets.celeba import CelebA
from fairflac.data.sets.faces import ATTRIBUTES
from fairflac.data.sets.fairface import MEANINGS, FairFace, label_faces, read_labels
from fairflac.data.sets.utkface import UTKFace
from fairflac.errors import UserError

HEADER = ["file", "age", "gender", "race", "service_test"]
AGES, RACES = list(MEANINGS["age"]), list(MEANINGS["race"])


def table(path: Path, rows: list[list[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([HEADER, *rows])
    return path


def rows_of(part: str, number: int = 36) -> list[list[str]]:
    """Every age four times; the number of the file tells all labels."""
    return [
        [f"{part}/{i}.jpg", AGES[i % 9], ("Male", "Female")[i % 2], RACES[i % 7], str(i % 3 == 0)]
        for i in range(1, number + 1)
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "fairface"
    for part in ("train", "val"):
        table(folder / f"fairface_label_{part}.csv", rows_of(part))
        for row in rows_of(part):
            draw(folder / "margin025" / row[0])
    return tmp_path


def test_labels_become_the_attributes_of_the_other_sets(root: Path) -> None:
    data = FairFace(drop_teens=True, size=16).load(root, "train")
    assert data is not None
    assert list(data.bias) == list(data.task.attributes) == ["gender", "race", "age"]
    for name in data.bias:
        assert data.task.attributes[name] == ATTRIBUTES[name]
    for i, name in enumerate(data.names):
        number = int(Path(name).stem)
        assert AGES[number % 9] != "10-19"
        assert data.y[i] == data.bias["gender"][i] == number % 2
        assert data.bias["race"][i] == int(RACES[number % 7] != "White")
        assert data.bias["age"][i] == int(AGES[number % 9] in ("0-2", "3-9"))


def test_values_have_one_order_in_all_sets() -> None:
    assert ATTRIBUTES["gender"].values == ("male", "female") and MEANINGS["gender"] == {"Male": 0, "Female": 1}
    assert ATTRIBUTES["race"].values[0] == "white" and MEANINGS["race"]["White"] == 0
    assert ATTRIBUTES["age"].values == ("adult", "child") and MEANINGS["age"]["3-9"] == 1


def test_teens_are_dropped_for_age_only(root: Path) -> None:
    sizes = {drop: len(label_faces(read_labels(root / "fairface/fairface_label_val.csv"), drop)) for drop in (0, 1)}
    assert sizes == {0: 36, 1: 32}
    data = FairFace(size=16).load(root, "test")
    assert data is not None and len(data) == 36 and list(data.bias) == ["gender", "race"]
    with pytest.raises(UserError, match="unknown target 'age'"):
        data.with_target("age")
    race = data.with_target("race")
    assert race.task.classes == ("white", "not white") and np.array_equal(race.y, data.bias["race"])


def test_images_stay_on_disk_and_can_become_tensors(root: Path) -> None:
    import torch

    data = FairFace(size=16).load(root, "train")
    assert data is not None and isinstance(data.images, np.memmap) and data.images.shape == (36, 18, 18, 3)
    assert torch.from_numpy(data.images).shape == (36, 18, 18, 3)  # warns, which is an error here, of read-only arrays
    assert FairFace().load(root, "validation") is None


def test_the_order_of_lines_does_not_matter(root: Path) -> None:
    path = root / "fairface/fairface_label_train.csv"
    before = read_labels(path)
    table(path, rows_of("train")[::-1])
    assert read_labels(path) == before


def test_a_margin_that_is_not_there(root: Path) -> None:
    with pytest.raises(UserError, match=r"has no images with margin 1\.25: .*bias_model\.margin=0\.25"):
        FairFace(margin="1.25").load(root, "train")


@pytest.mark.parametrize(
    ("top", "margin"),
    [
        ("fairface", "margin025"),
        ("fairface-img-margin025-trainval", "margin025"),
        ("fairface-img-margin125-trainval", "margin125"),
        ("padding=1.25", "margin125"),
    ],
)
def test_get_tells_the_margins_apart(top: str, margin: str, tmp_path: Path) -> None:
    source = tmp_path / top
    draw(source / "train" / "1.jpg")
    draw(source / "other" / "1.jpg")
    table(source / "fairface_label_val.csv", rows_of("val"))
    FairFace.get(tmp_path / "root", source, lambda line: None)
    files = sorted(p.relative_to(tmp_path / "root/fairface").as_posix() for p in (tmp_path / "root").rglob("*.*"))
    assert files == ["fairface_label_val.csv", f"{margin}/train/1.jpg"]


def test_check_counts_and_names_what_is_broken(root: Path) -> None:
    lines = FairFace.check(root)
    assert lines[0] == "train: 36 labels of 86744 published" and lines[4] == "train: 36 images with margin 0.25"
    assert lines[1] == "train gender: Male 18, Female 18"
    (root / "fairface/margin025/val/7.jpg").unlink()
    with pytest.raises(UserError, match=r"1 of 36 files in .*margin025.*'val/7\.jpg' \(No such file"):
        FairFace.check(root)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (["train/1.jpg", "10-18", "Male", "White", "True"], "line 2 of .*: age '10-18' is none of 0-2, 3-9, 10-19"),
        (["train/1.jpg", "0-2", "Male", "white", "True"], "race 'white' is none of"),
        (["../1.jpg", "0-2", "Male", "White", "True"], r"line 2 of .* has no file such as train/1\.jpg"),
        ([], "line 2 of .* has no file|lists no images"),
    ],
)
def test_wrong_tables_are_named(row: list[str], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=complaint):
        read_labels(table(tmp_path / "fairface_label_train.csv", [row]))


def test_missing_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: 'fairflac data get fairface'"):
        read_labels(tmp_path / "fairface_label_train.csv")


# --- as bias model ---


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for dataset in (FairFace, UTKFace, CelebA):
        monkeypatch.setitem(DATASETS, dataset.name, dataset)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("dataset", "changes", "own"),
    [
        ("utkface", {}, {"target": "race"}),
        ("utkface", {"bias": "age", "epochs": 3}, {"target": "age"}),
        ("celeba", {}, {"target": "gender", "size": 224, "margin": 1.25}),
        ("celeba", {"label": "makeup"}, {"target": "gender", "size": 224, "margin": "1.25"}),
    ],
)
def test_the_bias_model_is_an_ordinary_run(dataset: str, changes: dict[str, object], own: dict[str, object]) -> None:
    stage = resolve(dataset, "flac", 4, changes).stage_one()
    assert stage == resolve("fairface", "vanilla", 0, own)
    assert stage.data_options["drop_teens"] == (own["target"] == "age")


@pytest.mark.usefixtures("registered")
def test_stage_one_of_flac_b_is_the_vanilla_run() -> None:
    changes = {"label": "makeup"}
    assert resolve("celeba", "flac-b", 7, changes).stage_one() == resolve("celeba", "vanilla", 7, changes)
    paper = {"bias": "age", "bias_model.kind": "vanilla"}  # on UTKFace the recipe has another kind
    assert resolve("utkface", "flac-b", 7, paper).stage_one() == resolve("utkface", "vanilla", 7, {"bias": "age"})


@pytest.mark.usefixtures("registered")
def test_the_papers_values() -> None:
    race, age = (resolve("utkface", "flac", 0, {"bias": bias}) for bias in ("race", "age"))
    for config in (race, age):
        assert (config.train.epochs, config.method_options["alpha"]) == (20, 1000)
        assert (config.method_options["exponent"], config.method_options["ce_weight"]) == (1, 0.01)
    blond, makeup = (resolve("celeba", "flac", 0, {"label": label}) for label in ("blond", "makeup"))
    assert [(c.train.epochs, c.method_options["alpha"]) for c in (blond, makeup)] == [(10, 30000), (40, 20000)]
    assert blond.method_options["exponent"] == 0.5 and blond.data_options["size"] == 224


# --- the real files ---


def test_the_real_labels_and_a_few_images(fairface_tar: Path, tmp_path: Path) -> None:
    with tarfile.open(fairface_tar) as tar:
        members = {member.name.partition("/")[2]: member for member in tar if member.isfile()}
        for part in ("train", "val"):
            tar.extract(members[f"fairface_label_{part}.csv"], tmp_path, filter="data")
            rows = read_labels(tmp_path / f"fairface/fairface_label_{part}.csv")
            assert {row["file"] for row in rows} == {name for name in members if name.startswith(f"{part}/")}
            if part == "val":
                assert len(rows) == 10954
                faces = label_faces(rows, drop_teens=True)
                assert len(faces) == 9773 and np.bincount(faces.bias["age"]).tolist() == [8218, 1555]
            few = rows[:20]
            table(tmp_path / f"fairface/fairface_label_{part}.csv", [[row[key] for key in HEADER] for row in few])
            for row in few:
                tar.extract(members[row["file"]], tmp_path, filter="data")
    FairFace.get(tmp_path / "root", tmp_path / "fairface", lambda line: None)
    data = FairFace().load(tmp_path / "root", "test")
    assert data is not None and data.images.shape == (20, 72, 72, 3) and data.images.std() > 20
