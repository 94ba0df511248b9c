"""Images inside of tar files, read in place.

`shards/000.tar#cat_17.jpg:1536` is the image `cat_17.jpg`, whose bytes begin at 1,536: any of them is reached at once.
"""

import os
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from fairflac.data.pixels.decode import Unreadable

TAR = ".tar"
_NAME = re.compile(r"(?P<file>.+?\.tar)#(?P<member>.+):(?P<start>\d+)", re.IGNORECASE | re.DOTALL)


class TarMember(NamedTuple):
    """Where an image is."""

    file: str
    member: str
    start: int  # of its bytes; the header with their number lies before them

    def __str__(self) -> str:
        return f"{self.file}#{self.member}:{self.start}"


def tar_member(path: Path | str) -> TarMember | None:
    found = _NAME.fullmatch(str(path))
    return found and TarMember(found["file"], found["member"], int(found["start"]))


def tar_bytes(where: TarMember) -> bytes:
    """By nothing but its place, so that any number of threads may ask."""
    try:
        with open(where.file, "rb") as stream:
            stream.seek(max(where.start - tarfile.BLOCKSIZE, 0))
            header = tarfile.TarInfo.frombuf(stream.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
            if not where.start <= where.start + header.size <= os.fstat(stream.fileno()).st_size:
                raise Unreadable("the tar file ends before it")
            return stream.read(header.size)
    except (OSError, tarfile.TarError) as error:
        raise Unreadable(f"{getattr(error, 'strerror', None) or error}") from error
