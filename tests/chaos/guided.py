"""Bad input found by coverage: `python -m chaos.guided tables FOLDER -max_total_time=150`, where atheris is installed.

A parser is given whatever leads to code that was not reached before; FOLDER keeps that, and valid files are a good
beginning. Anything but a result or a UserError ends it, with the input in a file. Further words are libFuzzer's.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["fairflac", "tomllib", "json", "csv", "tarfile"]):
    import csv  # noqa: F401
    import json  # noqa: F401
    import tarfile  # noqa: F401
    import tomllib  # noqa: F401

    from fairflac.auditing.prediction_file import PredictionColumns, read_predictions
    from fairflac.config.file import read_config
    from fairflac.config.run_config import resolve
    from fairflac.data.own.csv_file import read_sheet
    from fairflac.data.own.sheet import Sheet, list_sheet
    from fairflac.data.own.tar_files import read_tar
    from fairflac.errors import UserError


def _listed(sheet: Sheet) -> object:
    return list_sheet(sheet)


def _config(path: Path) -> object:
    asked = read_config(path)
    return resolve(asked.dataset, asked.method, asked.seed, asked.settings, path.parent, complete=True)


# By name: how the file is called, and who reads it.
PARSERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "tables": ("table.csv", lambda path: _listed(read_sheet(path))),
    "lines": ("table.jsonl", lambda path: _listed(read_sheet(path))),
    "tar": ("images.tar", lambda path: _listed(read_tar(path))),
    "configs": ("config.toml", _config),
    "predictions": ("predictions.csv", lambda path: read_predictions(path, PredictionColumns())),
}


def main() -> None:
    name, parse = PARSERS[sys.argv.pop(1)]
    path = Path(tempfile.mkdtemp(dir="/dev/shm")) / name

    def once(content: bytes) -> None:
        path.write_bytes(content)
        with suppress(UserError):
            parse(path)

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
