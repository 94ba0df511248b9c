"""However a model is asked, it says the same of the same image."""

import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairflac import FLACClassifier
from fairflac.auditing.images import ImageSelection, select_images
from fairflac.config.run_config import resolve
from fairflac.exporting.formats import export
from fairflac.inference.model import predictions as table_of
from fairflac.inference.open import open_model
from fairflac.inference.predict import answers
from fairflac.runs.directory import Run, Workspace
from fairflac.training.build import load_config, load_method, load_split
from fairflac.training.pipeline import predict_run, train_config
from program import Program

CLASSES = ("dark", "light")
NET = {"net": "simple-conv", "channels": [4, 4, 8, 8], "kernel_size": 3}
ORIENTATIONS = (1, 3, 6, 8)  # of EXIF: as it is, on its head, to the right, to the left


def photograph(number: int) -> tuple[Image.Image, Image.Exif]:
    """Noise of several scales and an odd size, so that every step of decoding leaves its trace; some are grey."""
    rng = np.random.default_rng(number)
    width, height = (int(side) for side in rng.integers(21, 61, 2) * rng.choice([1, 3, 7], 1))
    coarse = Image.fromarray(rng.integers(0, 256, (7, 5, 3), dtype=np.uint8)).resize((width, height))
    fine = rng.integers(0, 120, (height, width, 3), dtype=np.uint8)
    image = Image.fromarray(np.asarray(coarse) // 4 + fine + np.uint8(16 * (number % 2)))
    exif = Image.Exif()
    exif[0x0112] = ORIENTATIONS[number % 4 if number % 3 else 0]
    return image.convert("L") if number % 5 == 0 else image, exif


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 JPEG files, 50 of them to test with."""
    folder = tmp_path_factory.mktemp("data") / "photographs"
    for number in range(80):
        image, exif = photograph(number)
        path = folder / ("test" if number < 50 else "train") / CLASSES[number % 2] / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, exif=exif)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=["32-true", "bf16-mixed"])
def run(request: pytest.FixtureRequest, photographs: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    changes = {"path": str(photographs), "size": 16, "epochs": 3, "lr": 0.02, "batch_size": 10, "augment": "none"}
    config = resolve("folder", "vanilla", 0, {**changes, **NET, "validation": 0.0, "precision": request.param})
    trained = train_config(config, Workspace(tmp_path_factory.mktemp("runs"), data, silent=True))
    assert trained is not None and trained.env["precision"] == request.param
    return trained


@pytest.fixture(scope="module")
def expected(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Class and its probability, as the run itself has them."""
    table = run.predictions
    assert 5 < table.prediction.sum() < 45 and table.score.std() > 0.01  # of several opinions
    return table.prediction, table.score


@pytest.fixture(scope="module")
def files(photographs: Path) -> list[Path]:
    return sorted((photographs / "test").rglob("*.jpg"))


def agree(expected: tuple[np.ndarray, np.ndarray], found: list[tuple[str, float]]) -> None:
    assert [CLASSES.index(name) for name, _ in found] == expected[0].tolist()
    np.testing.assert_allclose([share for _, share in found], expected[1], atol=1e-4)


Expected = tuple[np.ndarray, np.ndarray]


def test_predict(run: Run, expected: Expected, photographs: Path, program: Program) -> None:
    said = json.loads(program("predict", run.path, photographs / "test", "--json").out)
    agree(expected, [(one["class"], one["probability"]) for one in said["images"]])


def test_evaluate(run: Run, expected: Expected, data: Path, program: Program) -> None:
    split = load_split(load_config(run), data, "test")
    assert split is not None
    table = predict_run(run, split)
    assert table.prediction.tolist() == expected[0].tolist()
    np.testing.assert_allclose(table.score, expected[1], atol=1e-6)
    np.testing.assert_allclose(table.features, run.predictions.features, atol=1e-5)
    said = json.loads(program("evaluate", run.path, "--data", data, "--json").out)
    assert said["metrics"]["accuracy"]["value"] == run.result["test"]["accuracy"]


def test_audit(run: Run, expected: Expected, photographs: Path, data: Path, tmp_path: Path) -> None:
    shutil.copytree(photographs, tmp_path / "moved")  # not the folder that the run knows
    for folder in (photographs, tmp_path / "moved"):
        model = open_model(str(run.path))
        table = table_of(model, select_images(model, ImageSelection(str(folder), data)).data, silent=True)
        agree(expected, [(CLASSES[one], share) for one, share in zip(table.prediction, table.score, strict=True)])


def test_estimator(run: Run, expected: Expected, photographs: Path, files: list[Path], data: Path) -> None:
    """One that was fitted in the precision of the run, with the run's weights."""
    settings = {**NET, "precision": run.env["precision"]}
    net = settings.pop("net")
    model = FLACClassifier("vanilla", epochs=1, size=16, net=net, settings=settings, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRFLAC_DATA", str(data))
        model.fit(photographs)
    model.method_.load_state_dict(load_method(run).state_dict())
    shares = model.predict_proba(files)
    agree(expected, [(CLASSES[one], share) for one, share in zip(shares.argmax(1), shares.max(1), strict=True)])


@pytest.mark.parametrize("ending", ["onnx", "pt", "safetensors"])
def test_exported(run: Run, expected: Expected, files: list[Path], tmp_path: Path, ending: str) -> None:
    to = {"pt": "torchscript"}.get(ending, ending)
    done = export(run, to, tmp_path / f"model.{ending}")
    found = [answer.guesses[0] for answer in answers(open_model(str(done.file)), files)]
    agree(expected, [(guess.name, guess.probability) for guess in found])
    if ending != "safetensors":
        ask = program_on_card(done.card)
        agree(expected, [ask(path) for path in files])


KINDS = {"RGBA": "png", "LA": "png", "P": "png", "1": "png", "CMYK": "jpg", "L": "webp"}


def test_the_program_on_the_card_takes_every_kind_of_image(run: Run, tmp_path: Path) -> None:
    done = export(run, "onnx", tmp_path / "model.onnx")
    ask, paths = program_on_card(done.card), []
    for number, (mode, ending) in enumerate(KINDS.items()):
        image, _ = photograph(3 * number + 1)
        if "A" in mode:
            image.putalpha(image.getchannel("G"))
        paths.append(tmp_path / f"{number}.{ending}")
        image.convert(mode).save(paths[-1])
    for path, answer in zip(paths, answers(open_model(str(run.path)), paths), strict=True):
        name, share = ask(path)
        assert (answer.guesses[0].name, answer.guesses[0].probability) == (name, pytest.approx(share, abs=1e-4)), path


def program_on_card(card: Path) -> Callable[[Path], tuple[str, float]]:
    _, text = re.findall(r"```python\n(.*?)```", card.read_text(), flags=re.DOTALL)  # with fairflac, and without
    text = text.replace("'model.", f"'{card.parent}/model.").replace("print(", "answer = (")

    def ask(path: Path) -> tuple[str, float]:
        names: dict[str, tuple[str, float]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript, which users asked for
            exec(compile(text.replace("photo.jpg", str(path)), "card", "exec"), names)
        return names["answer"]

    return ask
