"""What a model cost."""

from collections.abc import Sequence

from fairflac.report.models import Model
from fairflac.report.provenance import processor
from fairflac.runs import Run


def bias_run(run: Run) -> Run | None:
    """The stage-1 run, where it still lies beside this one."""
    stage_one, name = run.config.get("bias_model"), run.result.get("bias_model")
    if not stage_one or not name:
        return None
    found = Run(run.path.resolve().parents[2] / stage_one["dataset"] / stage_one["method"] / name)
    return found if found.done else None


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
    stage_one = bias_run(model.run)
    if stage_one is None:
        return f"{words}, and its bias model a time that is not known here"
    return f"{words}, and its bias model {duration(stage_one.result['seconds'])}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
