"""The command line: one file per command. Nothing here imports torch before a command runs."""

import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from fairflac import __version__
from fairflac.cli import (
    audit,
    compare,
    data,
    debias,
    demo,
    discover,
    doctor,
    embed,
    evaluate,
    export,
    figures,
    predict,
    report,
    reproduce,
    serve,
    train,
    tune,
)
from fairflac.cli import list as list_command
from fairflac.cli.options import Commands, Plugin, echo, with_quiet
from fairflac.config import plugins
from fairflac.errors import Stopped, UserError, describe_os_error, in_plain_words
from fairflac.system import invocation
from fairflac.system.bf16 import keep_clear_of_broken_amx

COMPLETING = "_FAIRFLAC_COMPLETE"  # set by a shell that asks what could be typed next

app = typer.Typer(
    name="fairflac",
    help="Train image classifiers that do not lean on a shortcut, without labels of that shortcut.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo_command)
app.command("list")(list_command.list_names)
app.add_typer(data.app, name="data")
app.command("train")(train.train_command)
app.command("tune")(tune.tune_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("predict")(predict.predict_command)
app.command("embed")(embed.embed_command)
app.command("export")(export.export_command)
app.command("debias")(debias.debias_command)
app.command("discover")(discover.discover_command)
app.command("audit")(audit.audit_command)
app.command("compare")(compare.compare_command)
app.command("figures")(figures.figures)
app.command("report")(report.report_command)
app.command("serve")(serve.serve_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("doctor")(doctor.doctor)
for one in (*app.registered_commands, *data.app.registered_commands):
    assert one.callback is not None
    one.callback = with_quiet(one.callback)


def _show_version(wanted: bool) -> None:
    if wanted:
        echo(f"fairflac {__version__}")
        raise typer.Exit()


@app.callback(cls=Commands)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
    plugin: Plugin = [],  # noqa: B006 (typer copies it)
) -> None:
    plugins.add_files(plugin)
    plugins.load(["metrics"])  # installed packages with anything else are loaded once a name is looked up


LONGEST = 1200  # letters of a message; a damaged file may have names of a million


def _leave(message: str, colour: str = "red", code: int = 2) -> NoReturn:
    message = " ".join(message.split())
    if len(message) > LONGEST:
        message = f"{message[: LONGEST - 400]} … {message[-400:]}"  # what is wrong, and what to do
    if os.environ.get("LOCAL_RANK", "0") == "0":  # of several processes one speaks
        echo(f"fairflac: {message}", colour=colour, err=True)
    sys.exit(code)


def main() -> None:
    """Run the program. A mistake of the user is one line and exit code 2, never a traceback."""
    # Before torch is imported. Threads that spin while they wait hold each other up as soon as anything else runs.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if COMPLETING not in os.environ:  # a shell waits for the next word, and nothing is computed
        keep_clear_of_broken_amx()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may hold what is no text, as on stderr
    invocation.remember(sys.argv[1:])
    try:
        sys.exit(app(prog_name="fairflac", standalone_mode=False))
    except UserError as error:
        _leave(str(error))
    except Stopped as stopped:
        _leave(str(stopped), "yellow", 130)
    except typer.TyperException as error:
        if "Usage:" in error.format_message():  # called with no arguments: that is the help page
            echo(error.format_message())
            sys.exit(0)
        command = getattr(getattr(error, "ctx", None), "command_path", "fairflac")
        _leave(f"{in_plain_words(error.format_message())} (see {command} --help)")
    except OSError as error:
        _leave(describe_os_error(error))
