"""`fairflac discover` as a user meets it."""

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import fairflac
from fairflac.data.own.folder import list_folder
from fairflac.debiasing.request import Request
from fairflac.errors import UserError
from fairflac.runs.directory import Run, Workspace
from planted_bars import draw_folder
from program import Program, refused

PAGE = (Path(__file__).parents[2] / "docs" / "discovery.md").read_text()


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bar lies or stands, and the ground is red or blue: that is the shortcut."""
    return draw_folder(tmp_path_factory.mktemp("data") / "bars", 100, 0.85)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_ground_is_found_and_shown(program: Program, bars: Path, tmp_path: Path) -> None:
    """Without ImageNet weights, from pixels; the name of each file ends with its ground."""
    answer = program("discover", bars, "--data", tmp_path, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("A shortcut was found.\n") and "no ImageNet weights here" in answer.err
    rows = read(tmp_path / "out" / "groups.csv")
    assert len(rows) == 160 and list(rows[0]) == ["path", "label", "guess", "confidence"]  # a fifth is kept for tests
    grounds = {value: {Path(row["path"]).stem[-1] for row in rows if row["guess"] == value} for value in ("1", "2")}
    assert sorted(map(sorted, grounds.values())) == [["0"], ["1"]]
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in rows)
    page = (tmp_path / "out" / "discovery.html").read_text()
    assert "<strong>A shortcut was found.</strong>" in page and page.count('class="thumbnail"') == 24
    cue = "Look first at the red against blue: it tells which of two images of a class has the usual value 100.0"
    assert cue in answer.out and cue in page and "No single part of the images decides" in page
    assert "http" not in page.replace("http-equiv", "") and "<script" not in page
    assert "--attribute-from" in answer.out and answer.out.endswith("discovery.html\n")


def test_none_is_said_plainly(program: Program, tmp_path: Path) -> None:
    photos = draw_folder(tmp_path / "even", 60, 0.5)
    answer = program("discover", photos, "--data", tmp_path, "-o", tmp_path / "out", "--json")
    found = json.loads(answer.out)
    assert found["found"] == 0 and found["verdict"][0] == "No shortcut was found." and found["n"] == 96
    assert all(not one["believed"] and one["doubts"] for one in found["rounds"][0])
    assert Path(found["groups"]).exists() and "which is not believed" in Path(found["page"]).read_text()


def test_features_of_a_file_and_of_a_model(bars: Path, folder_run: Run, tmp_path: Path) -> None:
    names = list_folder(bars).names
    rng = np.random.default_rng(0)
    ground = np.array([int(Path(name).stem[-1]) for name in names])
    label = np.array([name.startswith("standing") for name in names])
    planted = np.stack([6 * ground, 6 * (1 - ground), label, 0 * ground], 1)
    np.save(tmp_path / "features.npy", rng.standard_normal(planted.shape) + planted)
    workspace = Workspace(data=tmp_path)
    found = fairflac.discover(
        bars, witness="linear", features=tmp_path / "features.npy", output=tmp_path / "a", workspace=workspace
    )
    kept = [int(Path(name).stem[-1]) for name in found.listing.names]
    assert len(found.shortcuts) == 1 and found.features == ("features.npy",)
    assert np.mean(found.shortcuts[0].testimony.value == kept) > 0.95
    found = fairflac.discover(bars, witness="linear", features=folder_run, output=tmp_path / "b", workspace=workspace)
    assert found.features == (str(folder_run.path),) and found.images.shape == (160, 18, 18, 3)


@pytest.fixture
def groups(bars: Path, tmp_path: Path) -> Path:
    return fairflac.discover(
        bars, witness="clusters", output=tmp_path / "out", workspace=Workspace(data=tmp_path), silent=True
    ).groups


def test_groups_go_back_into_debias(bars: Path, groups: Path, tmp_path: Path) -> None:
    """Up to what is checked before training; that they are trained with is tested in tests/debiasing."""
    request = Request(bars, tmp_path / "debiased", "early", attribute_from=groups)
    request.check_groups()
    assert request.by_groups
    groups.write_text(groups.read_text().replace("lying/0", "lying/x", 1))
    with pytest.raises(UserError, match="is none of the images of"):
        request.check_groups()


def test_wrong_groups_are_refused_before_training(program: Program, bars: Path, groups: Path, tmp_path: Path) -> None:
    lines = groups.read_text().splitlines()
    lines[1] = re.sub(",[12],", ",3,", lines[1])
    groups.write_text("\n".join(lines))
    words = ("debias", bars, "--attribute-from", groups, "--data", tmp_path, "-o", tmp_path / "debiased")
    refused(program(*words), "unknown value '3', of one image alone")
    assert not list((tmp_path / "debiased").rglob("last.pt"))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["nowhere"], ["there is no 'nowhere'"]),
        (["BARS", "--witness", "somebody"], ["somebody"]),
        (["BARS", "--features", "none.npy"], ["there is no file 'none.npy'"]),
        (["BARS", "--features", "nowhere"], ["there is no 'nowhere'"]),
        (["BARS", "--features", "SHORT"], ["has 3 rows, and there are 200 images"]),
        (["BARS", "--features", "NAN"], ["row 5 of", "is not finite"]),
        (["BARS", "--features", "SHUFFLED"], ["in the order of the listing"]),
        (["FEW"], ["class 'lying'", "image(s) to learn from", "needs 10 of each class"]),
        (["ONE"], ["has 1 image(s)"]),
        (["BARS", "-o", "FILE"], ["FILE"]),
    ],
)
def test_mistakes_cost_one_line(
    program: Program, words: list[str], parts: list[str], bars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(200) >= 100
    told = rng.standard_normal((200, 4)) + 3 * y[:, None]
    tables = {"SHORT": told[:3], "NAN": np.where(np.arange(200)[:, None] == 5, np.nan, told)}
    for name, content in (tables | {"SHUFFLED": told[rng.permutation(200)]}).items():
        np.save(f"{name}.npy", content)
    Path("FILE").write_text("")
    places = {"BARS": bars, "FEW": draw_folder(tmp_path / "few", 5, 0.5), "ONE": draw_folder(tmp_path / "one", 1, 0.5)}
    places |= {name: Path(f"{name}.npy") for name in (*tables, "SHUFFLED")}
    refused(program("discover", *(places.get(word, word) for word in words), "--data", tmp_path / "data"), *parts)
    assert not list(tmp_path.rglob("groups.csv"))


def test_commands_of_the_page_run(
    program: Program, bars: Path, folder_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(bars, tmp_path / "photos")
    names = list_folder(tmp_path / "photos").names
    np.save("features.npy", np.random.default_rng(0).standard_normal((200, 5)) + np.arange(200)[:, None] // 100)
    rows = [f"photos/{name},{name.split('/')[0]}" for name in names]
    Path("photos.csv").write_text("\n".join(["path,label", *rows]))
    commands = re.findall(r"^fairflac discover .*", PAGE, flags=re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = [word.replace("RUN", str(folder_run.path)) for word in shlex.split(command)[1:]]
        answer = program(*words, "--data", tmp_path / "data")
        assert answer.code == 0, (words, answer.err)
