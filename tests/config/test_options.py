"""Names as they are read from the source are those of the things themselves."""

import json
import subprocess
import sys
from typing import Any, get_type_hints

import pytest

from fairflac.config.options import (
    FLAGS,
    REGISTRIES,
    Component,
    Registered,
    _read,
    lookup,
    options_of,
    registered,
    sources,
    training_options,
)
from fairflac.config.run_config import TrainConfig, resolve
from fairflac.data import DATASETS, SOURCES
from fairflac.errors import UserError
from fairflac.methods import METHODS
from fairflac.nets import NETS

LIVE: dict[Component, dict[str, Any]] = {"dataset": {**DATASETS}, "method": {**METHODS}, "net": {**NETS}}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_the_source_says_what_the_registry_says(kind: Component) -> None:
    read = _read(kind)
    assert list(read) == list(LIVE[kind])
    for name, thing in LIVE[kind].items():
        flags = {flag: getattr(thing, flag, False) for flag in FLAGS}
        assert read[name] == Registered(tuple(options_of(thing).model_fields), flags=flags), name
        constructor = thing.__init__ if isinstance(thing, type) else thing
        assert spelled(read[name].types).items() <= hints(constructor).items()
    assert any(one.types for one in read.values())
    assert registered(kind) == read


def hints(thing: Any) -> dict[str, str]:
    return spelled(get_type_hints(thing, include_extras=True))


def spelled(types: dict[str, Any]) -> dict[str, str]:
    """To compare: two equal limits of pydantic are not equal."""
    return {name: repr(one) for name, one in types.items()}


def test_the_options_of_training() -> None:
    assert training_options().options == tuple(TrainConfig.model_fields)
    types = training_options().types
    assert spelled(types) == hints(TrainConfig)
    assert sources() == tuple(SOURCES)


def test_what_is_registered_later_is_known_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(METHODS["vanilla"]):  # type: ignore[misc, valid-type]
        name = "mine"

        def __init__(self, net: Any, spec: Any, *, strength: float = 1.0) -> None: ...

    with pytest.raises(UserError, match="unknown method 'mine'"):
        lookup("method", "mine")
    monkeypatch.setitem(METHODS, "mine", Mine)
    assert resolve("biased-digits", "mine", 0, {"strength": 2.0}).method_options == {"strength": 2.0}


MISTAKES = [
    ("train biased-digits flac --set alhpa=3", "did you mean 'alpha'"),
    ("train biased-digits flac --set bias_model.epoch=3", "did you mean 'epochs'"),
    ("train biased-digits flac --set alpha=x", "alpha = 'x' is not valid"),
    ("train biased-digits flac --set bias_model.epochs=-1", "epochs = -1 is not valid"),
    ("train biased-digits flca", "did you mean 'flac'"),
    ("train biased-digit flac", "did you mean 'biased-digits'"),
    ("train biased-digits flac --set net=resnet81", "did you mean 'resnet18'"),
    ("tune biased-digits flac --search alhpa=1:9", "did you mean 'alpha'"),
    ("demo --set epoch=3", "did you mean 'epochs'"),
    ("train . flac", "give folder as the dataset, and set path=."),
    ("list", "Choose from: methods, datasets"),
    ("debias . --set alhpa=3", "did you mean 'alpha'"),
    ("debias . --budget soon", "such as 90s"),
    ("export nowhere --to onnx", "there is no 'nowhere'"),
    ("debias nowhere", "there is no 'nowhere'"),
    ("audit model biased-digit", "did you mean 'biased-digits'"),
    ("audit model . --net resnet81", "did you mean 'resnet18'"),
    ("predict model . --net resnet81", "did you mean 'resnet18'"),
    ("evaluate run --on biased-digits --set qq=3", "unknown setting 'qq' of biased-digits"),
    ("evaluate nowhere", "'nowhere'"),
    ("data get minst", "did you mean 'mnist'"),
    (
        "train biased-digits flac --set kernel=x",
        "kernel = 'x' is not valid: it should be 'student-t', 'cosine' or 'rbf'",
    ),
    ("train biased-digits vanilla --set augment=x", "augment = 'x' is not valid: it should be 'none', "),
    ("data check biased-minst", "did you mean 'biased-mnist'"),
    ("data check /nope/photos", "there is no folder or file"),
    ("reproduce tabel2", "did you mean 'table2'"),
    ("reproduce figure2", "unknown figure"),
]
# One process answers all mistakes: as long as no answer imports torch, none of them finds it imported.
ANSWERS = """
import io, json, sys
from contextlib import redirect_stderr
from fairflac.cli import main

answers = []
for line in json.load(sys.stdin):
    sys.argv = ["fairflac", *line.split()]
    with redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as end:
            answers.append((end.code, said.getvalue(), "torch" in sys.modules))
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, bool]]:
    lines = [words for words, _ in MISTAKES]
    options = {"capture_output": True, "text": True, "cwd": tmp_path_factory.mktemp("empty")}
    done = subprocess.run([sys.executable, "-c", ANSWERS], input=json.dumps(lines), check=True, **options)
    return dict(zip(lines, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("words", "told"), MISTAKES)
def test_a_mistyped_word_is_answered_before_torch_is_imported(
    words: str, told: str, answers: dict[str, tuple[int, str, bool]]
) -> None:
    code, said, torch = answers[words]
    assert code == 2 and told in said and said.count("\n") == 1, said
    assert not torch
