from pathlib import Path

import pytest

from data.synset_trees import plant
from fairflac.data.sets.imagenet9 import ALL, CLASS_OF, CLASSES, SYNSETS
from fairflac.data.sets.imagenet_a import ImageNetA
from fairflac.errors import UserError

PRESENT = tuple(synset for synset in ALL[::2] if synset not in SYNSETS["crab"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plant(tmp_path / "unpacked", 2, (*PRESENT, "n01498041"), ".jpg")
    ImageNetA.get(tmp_path, tmp_path / "unpacked", lambda line: None)
    return tmp_path


def test_only_a_test_split(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ImageNetA(size=14)
    test = data.load(root, "test")
    assert test is not None and len(test) == 2 * len(PRESENT)
    assert [CLASSES[y] for y in test.y] == [CLASS_OF[name[:9]] for name in test.names]
    assert test.task.classes == CLASSES and not test.bias
    assert "no images of crab" in capsys.readouterr().err
    assert data.load(root, "validation") is None
    with pytest.raises(UserError, match="train on imagenet9"):
        data.load(root, "train")


def test_check_tells_of_absent_classes(root: Path) -> None:
    counts, absent = ImageNetA.check(root)
    assert counts.startswith(f"{2 * len(PRESENT)} images of {len(PRESENT)} synsets") and "crab 0" in counts
    assert "no images of crab" in absent
    (root / "imagenet-a" / PRESENT[0] / "photo_001.jpg").write_bytes(b"")
    with pytest.raises(UserError, match=r"photo_001\.jpg' is not an image"):
        ImageNetA.check(root)


def test_nothing_to_report_when_all_classes_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path / "imagenet-a", 1)
    assert len(ImageNetA.check(tmp_path)) == 1
    ImageNetA(size=14).load(tmp_path, "test")
    assert "no images" not in capsys.readouterr().err


def test_get_tells_how_and_links_what_is_needed(root: Path) -> None:
    lines: list[str] = []
    ImageNetA.get(root, None, lines.append)
    assert any("--from FOLDER" in line for line in lines)
    assert sorted(entry.name for entry in (root / "imagenet-a").iterdir()) == sorted(PRESENT)
    with pytest.raises(UserError, match="no images of the nine classes"):
        ImageNetA.get(root, root / "nowhere", lines.append)
    with pytest.raises(UserError, match="data get imagenet-a"):
        ImageNetA().load(root / "nowhere", "test")


def test_docstring_has_the_fixed_headings() -> None:
    for heading in ("Input:", "Class:", "Bias:", "Splits:", "Source:", "Licence:", "Deviations:"):
        assert heading in (ImageNetA.__doc__ or "")
