"""Arrays that are computed a part at a time into files, and mapped into memory from there.

Memory does not grow with the rows, and a computation that was killed goes on where its last whole shard ended.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from fairflac.system.files import read_mapped, write_text
from fairflac.system.parse import parse_json

SHARD = 8192  # rows, at least, after which what was computed is safe on disk

Parts = Callable[[int], Iterable[Sequence[np.ndarray]]]


def computed_arrays(paths: Sequence[Path], rows: int, key: str, parts: Parts) -> list[np.ndarray]:
    """Several arrays of `rows` rows, in files of their own; read-only in effect: what is written to them is not kept.

    `parts(start)` computes them from row `start` on, a few rows of each at a time; `key` says what they are computed
    of, so that nothing goes on with what was begun for something else. Files that are there are computed anew. That
    nobody else does the same is for the caller to see to.
    """
    progress, begun = _beside(paths[0], "progress"), [_beside(path, "part") for path in paths]
    done = _done(progress, key, begun)
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("r+b" if done else "w+b")) for path in begun]
        for stream in streams if done else ():  # what came after the last whole shard may not have reached the disk
            stream.truncate(_end(stream, done))
            stream.seek(0, os.SEEK_END)
        safe = done
        for part in parts(done):
            for stream, values in zip(streams, part, strict=True):
                if stream.tell() == 0:
                    _write_header(stream, (rows, *values.shape[1:]), values.dtype)
                stream.write(np.ascontiguousarray(values).data)
            done += len(part[0])
            if done - safe >= SHARD or done == rows:
                for stream in streams:
                    stream.flush()
                    os.fsync(stream.fileno())
                write_text(progress, json.dumps({"key": key, "rows": done}))
                safe = done
    progress.unlink()  # first: once the arrays are there nobody would sweep it up
    for path, whole in zip(paths, begun, strict=True):
        os.replace(whole, path)
    return [read_mapped(path) for path in paths]


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.{what}")


def _done(progress: Path, key: str, begun: Sequence[Path]) -> int:
    """Rows that an earlier computation of the same has left."""
    try:
        record = parse_json(progress.read_text())
        rows = int(record["rows"]) if record["key"] == key else 0
        for path in begun:
            with path.open("rb") as stream:
                if _end(stream, rows) > path.stat().st_size:
                    return 0
        return rows
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _write_header(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype) -> None:
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)


def _end(stream: IO[bytes], rows: int) -> int:
    """Where so many rows end in the file."""
    np.lib.format.read_magic(stream)
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    return stream.tell() + rows * math.prod(shape[1:]) * dtype.itemsize
