"""docs/python.md: every snippet runs, on less data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairflac
from estimator.planted import lines, save_folder
from fairflac import FLACClassifier
from fairflac.data.base import BiasedDataset
from fairflac.data.sets.biased_mnist import BiasedDigits
from test_readme import blocks

PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text()


class Brief(FLACClassifier):
    """The same with one epoch on small images."""

    def fit(self, x: Any, y: Any = None, **known: Any) -> FLACClassifier:
        self.epochs, self.size = 1, self.size and 16
        return super().fit(x, y, **known)


def test_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    whole = BiasedDigits.load

    def few(self: BiasedDigits, root: Path, split: Any) -> BiasedDataset:
        data = whole(self, root, split)
        assert data is not None
        rows = slice(None, None, 50)
        bias = {name: values[rows] for name, values in data.bias.items()}
        return replace(data, images=data.images[rows], y=data.y[rows], bias=bias, names=data.names[rows])

    images, words, shade = lines(30)
    save_folder(tmp_path / "photos", images, words)
    for name in ("1.jpg", "2.png"):
        save_folder(tmp_path, images[:1], np.array(["new"]))
        (tmp_path / "new" / "000.png").rename(tmp_path / "new" / name)
    embeddings = images.reshape(30, -1)[:, ::20].astype(np.float32)
    np.save(tmp_path / "embeddings.npy", embeddings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRFLAC_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(BiasedDigits, "load", few)
    monkeypatch.setattr(fairflac, "FLACClassifier", Brief, raising=False)
    names: dict[str, Any] = {
        "embeddings": embeddings,
        "labels": words,
        "backgrounds": shade,
        "seen_by_another_model": np.eye(2)[shade],
    }
    assert len(blocks("python", PAGE)) == 7
    for block in blocks("python", PAGE):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "pairs in a batch" in capsys.readouterr().out
    assert names["model"].method_.net.feature_dim == 16
