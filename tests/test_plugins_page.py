"""Plug-ins as their page shows them, in every command; and what is said of those that cannot be used."""

import glob
import json
import os
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from fairflac.config import plugins
from fairflac.config.run_config import resolve
from fairflac.errors import UserError
from fairflac.reproduction import ray_executor as ray
from fairflac.reproduction.local_executor import LocalExecutor
from fairflac.reproduction.plan import jobs_for
from fairflac.reproduction.scheduler import JobResult
from fairflac.runs.directory import Run, Workspace, finished_runs
from fairflac.training.pipeline import train_config
from planted_bars import draw_folder
from program import Program, program, refused
from small_runs import Recorder

__all__ = ["program"]
PAGE = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text()
TINY = {"epochs": 1, "channels": [2, 2, 2, 2], "kernel_size": 3, "precision": "32-true"}


def block(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)[0]


EXAMPLE = block("python")
PLUGIN = ("--plugin", "mine.py")


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_plugins: None) -> Path:
    """A folder with mine.py."""
    (tmp_path / "mine.py").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_on_the_page_runs(program: Program, workplace: Path) -> None:
    answers = {}
    for line in block("bash").splitlines():
        words = [found for word in shlex.split(line)[1:] for found in sorted(glob.glob(word)) or [word]]
        if "biased-digits" in words:
            words += ["--set", "channels=[2,2,2,2]", "--set", "kernel_size=3"]
        if words[0] == "compare":
            words = [*words[:2], words[1], *words[-2:]]
        answers[words[0]] = program(*words)
        assert answers[words[0]].code == 0, (line, answers[words[0]].err)
    assert "smooth" in answers["list"].out and "Cross-entropy with smooth labels" in answers["list"].out
    runs = finished_runs([workplace / "runs"])
    assert {run.config["dataset"] for run in runs} == {"squares", "biased-digits"}
    assert all("spread" in run.result["test"] for run in runs)
    assert "The best group accuracy minus the worst." in (workplace / "report.html").read_text()


def test_settings_of_vanilla_and_a_word_about_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairflac.system.progress._told", set())
    plugins.add_files([Path("mine.py")])
    mine, vanilla = (resolve("biased-digits", method) for method in ("smooth", "vanilla"))
    assert (mine.train, mine.net, mine.net_options) == (vanilla.train, vanilla.net, vanilla.net_options)
    assert mine.method_options == {"smoothing": 0.1}
    assert "'smooth' has no recipe for biased-digits: it trains with the settings of vanilla" in capsys.readouterr().err


def test_workers_know_it_too(tmp_path: Path) -> None:
    plugins.add_files([Path("mine.py")])
    config, place = resolve("biased-digits", "smooth", 0, TINY), Workspace(tmp_path / "runs", tmp_path)
    assert LocalExecutor(workers=1).run(jobs_for([config]), place, Recorder()) == {}
    assert "spread" in place.run(config).result["test"]


def test_tune_searches_a_method_on_a_dataset_and_a_network(program: Program, workplace: Path) -> None:
    """All three from the file; its dataset gets the validation split that a search needs."""
    held_out = EXAMPLE.replace('        if split == "validation":\n            return None\n', "")
    (workplace / "mine.py").write_text(held_out)
    search = ("--search", "smoothing=0.05,0.2", "--trials", "2", "--rule", "worst-class")
    answer = program("tune", "squares", "smooth", *search, "--set", "net=tiny", "--set", "epochs=1", *PLUGIN, "--json")
    assert answer.code == 0, answer.err
    best = json.loads(answer.out)["best"]
    run = Run.finished(Path(best["run"]))
    assert run.config["method_options"] == best["settings"] and "spread" in run.result["test"]
    again = program(*shlex.split(best["command"])[1:])
    assert again.code == 0 and str(run.path) in again.out, again.err  # which it finds trained


@pytest.mark.usefixtures("short_guesses")
def test_debias_trains_a_network_and_audit_opens_it(program: Program, workplace: Path) -> None:
    """The bias model is a run of the method in the file."""
    draw_folder(workplace / "bars", 120, aligned=0.9)
    changes = ("net=tiny", "size=16", "epochs=1", "bias_model.method=smooth")
    given = [word for change in changes for word in ("--set", change)]
    answer = program("debias", "bars", *given, *PLUGIN, "--data", workplace)
    assert answer.code == 0, answer.err
    runs = finished_runs([workplace / "bars-debiased"])
    assert {run.config["net"] for run in runs} == {"tiny"}
    assert {run.config["method"] for run in runs} == {"vanilla", "smooth", "flac-b"}
    assert "fairflac audit bars-debiased bars --plugin mine.py" in answer.out
    audited = program("audit", "bars-debiased", "bars", "--data", workplace, "--json", *PLUGIN)
    assert audited.code == 0 and json.loads(audited.out)["classes"] == ["lying", "standing"], audited.err


@pytest.mark.usefixtures("short_guesses")
def test_audit_of_a_dataset(program: Program, workplace: Path) -> None:
    plugins.add_files([Path("mine.py")])
    config, place = resolve("squares", "smooth", 0, {"net": "tiny", "epochs": 1}), Workspace(workplace, workplace)
    run = train_config(config, place)
    assert run is not None
    found = json.loads(program("audit", run.path, "squares", "--data", workplace, "--json").out)
    assert found["n"] == 400 and set(found["gaps"]) == {"brightness"}


def test_a_file_is_sent_to_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugins.add_files([Path("mine.py")])
    sent = plugins.texts()
    config, place = resolve("squares", "smooth", 0, {"net": "tiny", "epochs": 1}), Workspace(tmp_path, tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(plugins, "_done", set())
    for group, package in plugins.PACKAGES.items():
        registry = getattr(import_module(package), group.upper())
        for name in [name for kind, name in plugins._plugged if kind == group]:
            del registry[name]
    plugins._plugged.clear()
    assert ray._work(config, place, None, {"/elsewhere/mine.py": "import nothing_like_it"}, None).status == "failed"
    assert ray._work(config, place, None, sent, None) == JobResult("done")


def test_an_installed_package_needs_no_option(
    program: Program, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workplace / "mine.py").rename(workplace / "my_package.py")
    info = workplace / "my_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    entries = "[fairflac.methods]\nsmooth = my_package:Smooth\n[fairflac.nets]\nlittle = my_package:Tiny\n"
    (info / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(workplace)
    plugins._installed.cache_clear()
    try:
        assert "smooth" in json.loads(program("list", "methods", "--json").out)
        assert resolve("biased-digits", "smooth", 0, {"net": "little"}).net_options == {"width": 8}
    finally:
        monkeypatch.undo()
        plugins._installed.cache_clear()


METHOD = "from fairflac.methods import Method\nclass Mine(Method):\n    name = {name!r}\n{body}\nMETHODS = [Mine]\n"
STEP = "    def step(self, batch, minimise): ...\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import nothing_like_it", "cannot be loaded: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("def", "cannot be loaded: SyntaxError"),
        ("x = 1", "offers nothing: it needs one of METHODS, DATASETS, NETS, METRICS"),
        (METHOD.format(name="flac", body=STEP), "method 'flac' has a name that fairflac itself has already"),
        (METHOD.format(name="mine", body=""), "method 'mine' lacks step"),
        (METHOD.format(name="Mine!", body=STEP), "needs a name of small letters"),
        (
            METHOD.format(name="mine", body=STEP + "    def __init__(self, net, spec, *, power=2): ..."),
            "lacks a type for its option power",
        ),
        (METHOD.format(name="mine", body=STEP + "    def __init__(self, net): ..."), "must take (net, spec)"),
        ("class Mine:\n    name = 'mine'\nMETHODS = [Mine]", "is no child of fairflac.methods.Method"),
        ("class Mine:\n    name = 'mine'\nDATASETS = [Mine]", "is no child of fairflac.data.Dataset"),
        ("NETS = {'mine': 3}", "net 'mine' is not callable"),
        ("NETS = [3]", "NETS must be a dictionary by name"),
        ("class Mine:\n    name = 'mine'\nMETRICS = [Mine]", "metric 'mine' is no fairflac.metrics.Metric"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_line(program: Program, text: str, told: str) -> None:
    Path("bad.py").write_text(text)
    refused(program("train", "biased-digits", "mine", "--plugin", "bad.py"), "bad.py", told)


def test_one_that_is_not_there(program: Program) -> None:
    refused(program("--plugin=none.py", "list", "methods"), "there is no plug-in 'none.py'")
    os.environ[plugins.VARIABLE] = "none.py"
    with pytest.raises(UserError, match=r"there is no plug-in 'none\.py': check FAIRFLAC_PLUGINS"):
        plugins.load()
