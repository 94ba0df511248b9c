"""Images in the rows of Parquet and Arrow files, written by pyarrow and by the real `datasets`, and their mistakes."""

import io
import json
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from fairflac.data.own import check_own_images, own_images
from fairflac.data.own.arrow_files import split_in
from fairflac.data.own.folder import Folder
from fairflac.data.own.sheet import ColumnChoice
from fairflac.data.pixels.cache import read_images
from fairflac.data.pixels.decode import Unreadable, decode
from fairflac.data.pixels.rows import ImageRow, RowReader, image_row
from fairflac.errors import UserError
from planted_bars import draw_folder
from program import Program, refused

COUNT = 20


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same images as class folders, of which everything else here is made."""
    return draw_folder(tmp_path_factory.mktemp("bars") / "bars", COUNT // 2, aligned=0.8)


def columns(photos: Path) -> dict[str, list[Any]]:
    files = sorted(photos.rglob("*.png"))
    return {
        "image": [{"bytes": file.read_bytes(), "path": file.name} for file in files],
        "label": [["lying", "standing"].index(file.parent.name) for file in files],
        "ground": ["blue" if file.stem.endswith("1") else "red" for file in files],
        "id": [file.stem for file in files],
    }


def features() -> datasets.Features:
    return datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["lying", "standing"]),
            "ground": datasets.Value("string"),
            "id": datasets.Value("string"),
        }
    )


@pytest.fixture(scope="module")
def saved(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By kind, as `datasets` and pyarrow write them."""
    folder = tmp_path_factory.mktemp("saved")
    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict(columns(photos), features=features())
    data.save_to_disk(folder / "disk", num_shards=2)
    data.to_parquet(folder / "bars.parquet")
    (folder / "shards" / "data").mkdir(parents=True)
    for name, part in (("train", range(0, COUNT, 2)), ("test", range(1, COUNT, 2))):
        data.select(part).to_parquet(folder / "shards" / "data" / f"{name}-00000-of-00001.parquet")
    parts = {"train": data.select(range(0, COUNT, 2)), "test": data.select(range(1, COUNT, 2))}
    datasets.DatasetDict(parts).save_to_disk(folder / "dict")
    table = pa.table({"image": [one["bytes"] for one in columns(photos)["image"]], "label": columns(photos)["label"]})
    pq.write_table(table, folder / "plain.parquet", row_group_size=7)  # bytes without a struct, numbers without names
    with pa.OSFile(str(folder / "plain.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, 6)
    return {path.name: path for path in folder.iterdir()}


KINDS = ("disk", "bars.parquet", "shards", "dict", "plain.parquet", "plain.arrow")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_images_of_the_folder(
    kind: str, photos: Path, saved: dict[str, Path], tmp_path: Path
) -> None:
    want = read_images(
        photos, [file.relative_to(photos).as_posix() for file in sorted(photos.rglob("*.png"))], (9, 9), tmp_path
    )
    listing = own_images(saved[kind]).listing()
    found = read_images(listing.folder, listing.names, (9, 9), tmp_path)
    assert sorted(found.digests.tolist()) == sorted(want.digests.tolist())
    order, wanted = np.argsort(found.digests), np.argsort(want.digests)
    np.testing.assert_array_equal(found.pixels[order], want.pixels[wanted])
    classes = {"0": "lying", "1": "standing"}
    labels = [classes.get(label, label) for label in listing.labels]
    assert [labels[i] for i in order] == [["lying", "standing"][int(i >= COUNT // 2)] for i in wanted]
    if kind in ("shards", "dict"):
        assert listing.splits is not None and sorted(listing.splits) == ["test"] * 10 + ["train"] * 10
    else:
        assert listing.splits is None
    if not kind.startswith("plain"):
        assert set(listing.attributes) == {"ground"}  # an id is no attribute
        assert listing.notes == ("column 'id' has 17 values, most of one image alone: left out",) or listing.splits


@pytest.mark.parametrize("kind", ["bars.parquet", "disk"])
def test_the_real_library_reads_the_same(kind: str, saved: dict[str, Path]) -> None:
    read = datasets.load_from_disk if kind == "disk" else datasets.Dataset.from_parquet
    theirs = read(str(saved[kind]))
    listing, rows = own_images(saved[kind]).listing(), RowReader()
    names = theirs.features["label"].names
    for name, label, one in zip(listing.names, listing.labels, theirs, strict=True):
        where = image_row(listing.folder / name)
        assert where is not None and label == names[one["label"]]
        np.testing.assert_array_equal(decode(rows(where), (36, 36), "cover"), np.asarray(one["image"].convert("RGB")))


def test_nothing_is_copied_but_the_cache(saved: dict[str, Path], tmp_path: Path) -> None:
    before = sorted(saved["dict"].rglob("*"))
    lines, warnings = check_own_images(saved["dict"], tmp_path / "data")
    assert lines[0].startswith("train: ") and "attribute ground: blue, red" in lines and len(warnings) == 1
    assert sorted(saved["dict"].rglob("*")) == before
    assert {path.suffix for path in (tmp_path / "data").rglob("*") if path.is_file()} == {".npy", ".json", ".lock"}


def test_another_file_is_another_cache(saved: dict[str, Path], tmp_path: Path) -> None:
    table = pq.read_table(saved["plain.parquet"])
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    first = own_images(path).load(tmp_path, "test")
    pq.write_table(table.take(list(range(COUNT))[::-1]), path, row_group_size=3)
    second = own_images(path).load(tmp_path, "test")
    assert first is not None and second is not None
    assert first.names.tolist() != second.names.tolist()  # the same images by content, in other rows
    assert sorted(map(bytes, first.images)) == sorted(map(bytes, second.images))


def test_rows_are_found_in_any_order(saved: dict[str, Path]) -> None:
    rows = RowReader()
    for kind in ("plain.parquet", "plain.arrow"):
        want = pa.table(pq.read_table(saved["plain.parquet"]))["image"].to_pylist()
        for row in (3, 4, 19, 0, 8, 7, 7):
            assert rows(ImageRow(str(saved[kind]), "image", row)) == want[row]
        for wrong in (ImageRow(str(saved[kind]), "image", 20), ImageRow(str(saved[kind]), "picture", 0)):
            with pytest.raises(Unreadable):
                rows(wrong)
    name = ImageRow("a b.parquet", "odd/name#:é", 5)
    assert image_row(str(name)) == name and image_row("photos/1.jpg") is None


def write(target: Path, photos: Path, **changes: Any) -> Path:
    """A table of the images with other columns; None takes one away."""
    content = {name: values for name, values in (columns(photos) | changes).items() if values is not None}
    pq.write_table(pa.table(content), target)
    return target


def test_several_labels_and_images_are_chosen_by_name(photos: Path, tmp_path: Path) -> None:
    found = columns(photos)
    both = write(
        tmp_path / "a.parquet", photos, label=None, hair=found["ground"], kind=found["label"], thumb=found["image"]
    )
    with pytest.raises(UserError, match="has images in image and thumb: say which with path_column"):
        own_images(both).listing()
    listing = own_images(both, choice=ColumnChoice("thumb", "hair")).listing()
    assert set(listing.labels) == {"blue", "red"} and set(listing.attributes) == {"ground", "kind"}
    assert listing.names[3] == "a.parquet#thumb:3"
    with pytest.raises(UserError, match=r"unknown column 'hiar' of .*: did you mean 'hair'"):
        own_images(both, choice=ColumnChoice("thumb", "hiar")).listing()
    with pytest.raises(UserError, match=r"column 'image' of .* has images, and no labels"):
        own_images(both, choice=ColumnChoice("thumb", "image")).listing()


def test_gaps_and_broken_bytes_are_named(photos: Path, tmp_path: Path, program: Program) -> None:
    images = columns(photos)["image"]
    images[1], images[2] = None, {"bytes": b"no image", "path": None}
    path = write(tmp_path / "a.parquet", photos, image=images, ground=["red", None] * 10)
    answer = program("data", "check", path, "--data", tmp_path)
    assert answer.code == 0 and "column 'ground' has gaps" in answer.out
    assert "2 of 20 files" in answer.out and "'a.parquet#image:1' (no image in this row)" in answer.out
    assert "'a.parquet#image:2' (not an image, or of an unknown kind)" in answer.out
    refused(program("data", "check", path, "--data", tmp_path, "--strict"), "2 of 20 files", "a.parquet#image:1")


def _metadata(**names: list[str]) -> dict[bytes, bytes]:
    kinds = {name: {"names": values, "_type": "ClassLabel"} for name, values in names.items()}
    return {b"huggingface": json.dumps({"info": {"features": kinds}}).encode()}


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("no label", "has no column 'label': it has ground, id, image; name the right one with label_column"),
        ("no image", "has no column 'path': it has label, ground, id; name the right one with path_column"),
        ("null label", "row 4 of 'a.parquet' has nothing in column 'label': fill it in, or remove the row"),
        ("unknown label", "row 0 of 'a.parquet': label is 7, and there are 2 names of classes"),
        ("hidden label", "row 3 of 'a.parquet' has nothing in column 'label'"),
        ("nested", "column 'objects' of 'a.parquet' is a list of values, which cannot serve as label_column"),
        (
            "deep",
            "it has nothing of use, and 'meta', which is a record of several values; name the right",
        ),
        ("record", "column 'objects' of 'a.parquet' is a record of several values"),
        ("outside", "row 0 of 'a.parquet': '/etc/passwd' is outside of '.'"),
        ("no Parquet", "'a.parquet' cannot be read as Parquet"),
        ("no Arrow", "'a.arrow' cannot be read as Arrow"),
        ("cut Arrow", "'a.arrow' cannot be read as Arrow"),
        ("half a save", "state.json' is damaged: save the dataset again with save_to_disk"),
        ("lost shard", "there is no file 'disk/data-00000-of-00001.arrow'"),
        ("odd shard", "'more.parquet' in 'shards' does not say its split, and other files do"),
        ("two ClassLabels", "has the columns fine and coarse: say which with label_column"),
    ],
)
def test_mistakes_are_one_line(
    how: str, told: str, photos: Path, saved: dict[str, Path], tmp_path: Path, program: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    path, words = Path("a.parquet"), list[str]()
    found = columns(photos)
    match how:
        case "no label":
            write(path, photos, label=None)
        case "no image":
            write(path, photos, image=None)
        case "null label":
            write(path, photos, label=[*found["label"][:4], None, *found["label"][5:]])
        case "unknown label" | "hidden label":
            labels = [7, *[0] * 19] if how == "unknown label" else [0, 1, 0, -1, *[1] * 16]
            table = pa.table(found | {"label": labels})
            pq.write_table(table.replace_schema_metadata(_metadata(label=["lying", "standing"])), path)
        case "nested" | "record":
            write(path, photos, objects=[["a"] if how == "nested" else {"box": 1}] * 20)
            words = ["--label", "objects"]
        case "deep":
            pq.write_table(pa.table({"meta": [{"image": one, "label": "a"} for one in found["image"]]}), path)
        case "outside":
            write(path, photos, image=None, path=["/etc/passwd"] * 20)
        case "no Parquet" | "no Arrow":
            path = Path("a.parquet" if how == "no Parquet" else "a.arrow")
            path.write_bytes(b"PAR1 and nothing else")
        case "cut Arrow":
            path = Path("a.arrow")
            content = next(saved["disk"].glob("*.arrow")).read_bytes()
            path.write_bytes(content[: len(content) // 2])
        case "half a save" | "lost shard":
            path = Path("disk")
            path.mkdir()
            files = [] if how == "half a save" else [{"filename": "data-00000-of-00001.arrow"}]
            (path / "state.json").write_text("{" if how == "half a save" else json.dumps({"_data_files": files}))
        case "odd shard":
            path = Path("shards")
            path.mkdir()
            for name in ("train-0.parquet", "more.parquet"):
                write(path / name, photos)
        case "two ClassLabels":
            table = pa.table(
                {name: found[name] for name in ("image", "ground")} | {"fine": found["label"], "coarse": found["label"]}
            )
            pq.write_table(table.replace_schema_metadata(_metadata(fine=["a", "b"], coarse=["a", "b"])), path)
    refused(program("data", "check", path, "--data", "data", *words), told)


def test_paths_noted_by_datasets_are_followed_where_bytes_are_missing(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bars"
    draw_folder(folder, 5, aligned=0.8)
    files = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*.png"))]
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    images = pa.array([{"bytes": None, "path": file} for file in files], kind)
    pq.write_table(pa.table({"image": images, "label": [0] * 5 + [1] * 5}), folder / "list.parquet")
    assert list(own_images(folder / "list.parquet").listing().names) == files


def test_an_image_folder_with_a_table(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        lines = []
        for number in range(8):
            Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / split / f"{number}.png")
            line = {
                "file_name": f"{number}.png",
                "hair": ["dark", "fair"][number % 2],
                "tags": ["a"],
                "age": number // 4,
            }
            lines.append(json.dumps(line))
        (tmp_path / split / "metadata.jsonl").write_text("\n".join(lines))
    listing = own_images(tmp_path, choice=ColumnChoice(label="hair")).listing()
    assert set(listing.labels) == {"dark", "fair"} and set(listing.attributes) == {"age"}
    assert listing.names[9] == "test/1.png" or listing.names[9] == "train/1.png"
    assert sorted(set(listing.splits or ())) == ["test", "train"]
    assert [name.split("/")[0] for name in listing.names] == list(listing.splits or ())
    theirs = datasets.load_dataset("imagefolder", data_dir=str(tmp_path), cache_dir=str(tmp_path / "hf"))
    assert [one["hair"] for one in theirs["test"]] == [
        label for label, split in zip(listing.labels, listing.splits or (), strict=True) if split == "test"
    ]


def test_class_folders_stay_what_they_are_beside_other_files(photos: Path, tmp_path: Path) -> None:
    folder = draw_folder(tmp_path / "bars", 3, aligned=0.5)
    write(folder / "embeddings.parquet", photos)
    (folder / "metadata.csv").write_text("file_name,taken\nlying/0.png,2020\n")
    assert set(Folder(path=folder).listing().labels) == {"lying", "standing"}
    with pytest.raises(UserError, match=r"'hair' names a column, and .* is a folder of images"):
        Folder(path=draw_folder(tmp_path / "more", 3, aligned=0.5), label_column="hair").listing()


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("data/train-00000-of-00002-ab12.parquet", "train"), ("test/0000.parquet", "test"), ("0000.parquet", None),
        ("default/validation/0.parquet", "validation"), ("trained.parquet", None),
    ],
)  # fmt: skip
def test_names_of_files_say_their_split(name: str, split: str | None) -> None:
    assert split_in(name) == split


def test_an_archive_of_large_row_groups_is_read_a_few_rows_at_a_time(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (400, 128, 128, 3), dtype=np.uint8)
    contents = []
    for pixels in noise:
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, "bmp")
        contents.append(stream.getvalue())
    table, path = pa.table({"image": contents}), tmp_path / "large.parquet"
    pq.write_table(table, path, row_group_size=400, compression="none", write_batch_size=16)  # in pages of 16 rows
    rows = RowReader()
    pool = pa.default_memory_pool()
    start, most = pool.bytes_allocated(), 0
    for row in range(400):
        assert rows(ImageRow(str(path), "image", row)) == contents[row]
        most = max(most, pool.bytes_allocated() - start)
    assert most < sum(map(len, contents)) / 3
