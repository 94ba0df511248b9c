"""The paper's tables and figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fairflac.errors import UserError
from fairflac.reproduction.published import official_name
from fairflac.runs.directory import Workspace
from fairflac.system.files import check_folder

if TYPE_CHECKING:
    from fairflac.reproduction.make import Reproduction
    from fairflac.reproduction.scheduler import Executor


def reproduce(
    name: str,
    *,
    scale: Literal["cpu", "paper"] = "cpu",
    only: Sequence[str] = (),
    q: Sequence[float] = (),
    seeds: int | None = None,
    workspace: Workspace | None = None,
    output: Path | str = Path("results"),
    executor: "Executor | None" = None,
    rebuild: bool = False,
) -> "Reproduction":
    """Make a table or figure of the paper: train what is missing, then write it beside the published values.

    Runs that are done are not trained again; stopped at any moment, the same call goes on. At the scale `cpu` numbers
    are no reproduction, say so, and are never set against the paper's.

    Args:
        name: `table1` to `table12` or its alias, `figure1`, `figure3`, `figure4` or `figure5`.
        scale: the paper's protocol, or one for two cores.
        only: rows of these methods.
        q: columns of these correlations.
        seeds: instead of those of the scale.
        workspace: where runs and data are.
        output: the folder for what comes out.
        executor: who trains; processes of this machine if not given.
        rebuild: train nothing, read the runs that are there.

    Returns:
        The files that were written, their text, and the runs that failed.

    Example:
        >>> made = fairflac.reproduce("table2", only=["vanilla", "flac"])  # doctest: +SKIP
        >>> print(made.text["md"])  # doctest: +SKIP
    """
    name, output, workspace = official_name(name), Path(output), workspace or Workspace()
    check_folder(output)
    if rebuild and not workspace.runs.is_dir():
        raise UserError(f"--from {workspace.runs}: there is no such folder; give one with runs in it")
    if not rebuild:
        check_folder(workspace.runs)
    if (name == "table1" or name.startswith("figure")) and (only or q or seeds):
        raise UserError(f"--only, --q and --seeds are for tables of results: {name} shows what it shows")

    from fairflac.reproduction.make import make_applicability, make_figure, make_table
    from fairflac.reproduction.scheduler import LocalExecutor

    if name == "table1":
        return make_applicability(output)
    trainer = None if rebuild else executor or LocalExecutor()
    if name.startswith("figure"):
        return make_figure(name, scale, workspace, trainer, output)
    return make_table(name, scale, list(only), list(q), seeds, workspace, trainer, output)
