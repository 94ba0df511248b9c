"""How each run was made, as the page tells it."""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairflac.metrics.scores import UNKNOWN
from fairflac.reporting.naming import is_result
from fairflac.reporting.results import Model
from fairflac.runs.directory import CONFIG, Run
from fairflac.system.progress import duration

SELECTION = {
    "last": "last epoch",
    "accuracy": "best validation accuracy",
    "oracle-unbiased": "best unbiased validation accuracy (uses attribute labels)",
}


@dataclass(frozen=True)
class RunProvenance:
    """One run's line."""

    place: str  # the last three parts of its path: dataset, method, run id with seed
    role: str
    seed: int
    epochs: str
    selection: str
    seconds: float
    command: str | None  # that was typed, and the one that reads its config file; None: it has no such file
    environment: str
    bias_model: str  # which one it used


def provenance(runs: Sequence[Run]) -> list[RunProvenance]:
    return [_provenance(run) for run in runs]


def machines(runs: Sequence[Run]) -> list[str]:
    """Hardware and precision, one line for each combination that occurs."""
    return list(dict.fromkeys(map(_machine, runs)))


def _provenance(run: Run) -> RunProvenance:
    config, result = run.config, run.result
    train = config.get("train", {})
    rule = train.get("selection", result.get("selection", UNKNOWN))
    return RunProvenance(
        place=_place(run),
        role="result" if is_result(run) else f"bias model ({config['target']})",
        seed=config["seed"],
        epochs=str(train.get("epochs", UNKNOWN)),
        selection=SELECTION.get(rule, rule),
        seconds=result["seconds"],
        command=commands(run) if "net" in config else None,
        environment=", ".join(f"{name} {value}" for name, value in run.env.items() if name != "command"),
        bias_model=result.get("bias_model") or UNKNOWN,
    )


def processor(env: dict[str, Any]) -> str:
    """Device, its name, cores."""
    parts = [
        f"device {env.get('device', 'not recorded')}",
        *(str(env[name]) for name in ("gpu", "cpu") if env.get(name)),
        *([f"{env['cores']} cores"] if env.get("cores") else []),
    ]
    return ", ".join(parts)


def _machine(run: Run) -> str:
    env = run.env
    parts = [
        processor(env),
        f"precision {env.get('precision', 'not recorded')}",
        *(f"{name} {env[name]}" for name in ("torch", "python") if env.get(name)),
    ]
    if env.get("processes", 1) > 1:
        parts.append(f"{env['processes']} processes")
    return ", ".join(parts)


WORD = re.compile(r"(?!true$|false$|inf$|nan$)[A-Za-z_][\w./+-]*")  # a text that nothing else than a text can be


def commands(run: Run) -> str:
    """What the user typed, and what repeats the run from its config file, which has every setting."""
    again = shlex.join(["fairflac", "train", "--config", f"{_place(run)}/{CONFIG}"])
    typed = run.env.get("command")
    if not isinstance(typed, str):
        return again
    return f"{typed}\n# or, in the folder of runs, with every setting from the file beside this one:\n{again}"


def _place(run: Run) -> str:
    return "/".join(run.path.resolve().parts[-3:])


def written(value: Any) -> str:
    """As TOML; a plain word needs no quotes."""
    return value if isinstance(value, str) and WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def bias_runs(run: Run) -> list[Run]:
    """The stage-1 runs, those that still lie beside this one."""
    stages = [*filter(None, [run.config.get("bias_model")]), *run.config.get("other_bias_models", [])]
    names = [run.result.get("bias_model"), *(other["run"] for other in run.result.get("other_bias_models", []))]
    root = run.path.resolve().parents[2]
    found = [
        Run(root / stage["dataset"] / stage["method"] / name)
        for stage, name in zip(stages, names, strict=False)
        if name
    ]
    return [one for one in found if one.done]


def cost(models: Sequence[Model]) -> list[str]:
    """One sentence for the times and one for the machines."""
    times = "; ".join(_time(model) for model in models)
    machines = list(dict.fromkeys(processor(model.run.env) for model in models))
    return [f"Training took: {times}.", f"Machine: {'; or '.join(machines)}."]


def _time(model: Model) -> str:
    words = f"{model.name} {duration(model.run.result['seconds'])}"
    if model.seeds > 1:
        words += " (its first seed)"
    if not model.run.result.get("bias_model"):
        return words
    stages = bias_runs(model.run)
    several = 1 + len(model.run.result.get("other_bias_models", []))
    whose = "its bias model" if several == 1 else f"its {several} bias models"
    if len(stages) < several:
        return f"{words}, and {whose} a time that is not known here"
    return f"{words}, and {whose} {duration(sum(one.result['seconds'] for one in stages))}"


SMALL_BATCH = 32  # images; the paper's own bound


@dataclass(frozen=True)
class Caveat:
    text: str
    here: str = ""  # why it touches these runs


def caveats(runs: Sequence[Run]) -> list[Caveat]:
    """The paper's own, and what follows from how things are measured."""
    flac = [run for run in runs if run.config["method"].startswith("flac")]
    always = any(run.config.get("data_options", {}).get("q") == 1 for run in flac)
    small = [run for run in flac if run.config.get("train", {}).get("batch_size", SMALL_BATCH + 1) <= SMALL_BATCH]
    single = [run for run in flac if not run.config.get("other_bias_models")]
    several = any(len(run.result.get("attributes") or {}) > 1 for run in single)
    scratch = [run.config["method"] for run in runs if run.result.get("from_scratch")]
    return [
        *(
            Caveat(
                "The paper starts from ImageNet weights here. Numbers of a training from scratch do not compare with "
                "its own.",
                f"This is so here: {method} was trained from scratch, because the weights were not there "
                "('fairflac data get imagenet-weights').",
            )
            for method in dict.fromkeys(scratch)
        ),
        Caveat(
            "FLAC learns from images whose attribute does not go with their class. Where the two always go together "
            "(a correlation of 100 %) there are none, and FLAC is ordinary training.",
            "This is so here: q = 1." if always else "",
        ),
        Caveat(
            f"It compares images within a batch. In batches of {SMALL_BATCH} or less there are few pairs to compare, "
            "and it gains little.",
            f"This is so here: batch_size = {small[0].config['train']['batch_size']}." if small else "",
        ),
        Caveat(
            "It is made for one attribute. Against several at once, there must be a bias model for each, or one that "
            "sees all of them.",
            "There are several attributes here, and one bias model." if several else "",
        ),
        Caveat("It is as good as its bias model: an attribute that the bias model does not see stays in the model."),
        Caveat(
            "A model that ignores an attribute can still treat people unequally. The groups below 30 images, and "
            "groups that no test image shows, are where this report says least."
        ),
    ]
