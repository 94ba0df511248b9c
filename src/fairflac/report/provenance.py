"""How each run was made, as the page tells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairflac.report.repeat import command
from fairflac.report.tables import UNKNOWN
from fairflac.report.trained_on import is_result
from fairflac.runs import Run

SELECTION = {
    "last": "last epoch",
    "accuracy": "best validation accuracy",
    "oracle-unbiased": "best unbiased validation accuracy (uses attribute labels)",
}


@dataclass(frozen=True)
class Making:
    """One run's line."""

    place: str  # the last three parts of its path: dataset, method, run id with seed
    role: str
    seed: int
    epochs: str
    selection: str
    seconds: float
    command: str | None  # that makes it again
    environment: str
    bias_model: str  # which one it used


def makings(runs: Sequence[Run]) -> list[Making]:
    return [_making(run) for run in runs]


def machines(runs: Sequence[Run]) -> list[str]:
    """Hardware and precision, one line for each combination that occurs."""
    return list(dict.fromkeys(map(_machine, runs)))


def _making(run: Run) -> Making:
    config, result = run.config, run.result
    train = config.get("train", {})
    rule = train.get("selection", result.get("selection", UNKNOWN))
    return Making(
        place="/".join(run.path.resolve().parts[-3:]),
        role="result" if is_result(run) else f"bias model ({config['target']})",
        seed=config["seed"],
        epochs=str(train.get("epochs", UNKNOWN)),
        selection=SELECTION.get(rule, rule),
        seconds=result["seconds"],
        command=command(config) if "net" in config else None,
        environment=", ".join(f"{name} {value}" for name, value in run.env.items()),
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
