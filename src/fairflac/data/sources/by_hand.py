"""Datasets that users fetch themselves, because a licence or a login stands in the way of a download."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fairflac.data.sources.archives import opened
from fairflac.errors import UserError
from fairflac.system.progress import meter

# Stands in the folder while files come in: a part of a dataset must not be taken for all of it.
UNFINISHED = ".unfinished"

# Where a file of a parcel belongs in the dataset's folder; None: it is not wanted.
Place = Callable[[PurePosixPath], str | None]


@dataclass(frozen=True)
class ByHand:
    """What a user is told, and where her files go."""

    name: str  # of the dataset, and of its folder
    steps: tuple[str, ...]
    layout: tuple[str, ...]  # relative to the folder
    size: str
    place: Place

    def get(self, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        """Take the files over from `source`; without it, say how to obtain them."""
        if source is None:
            self._explain(root, say)
            return
        folder = root / self.name
        number = self._take_over(source, folder)
        say(f"{self.name}: {number} files from {source} are in {folder}; 'fairflac data check {self.name}' proves them")

    def folder(self, root: Path) -> Path:
        """Where the files are; an error when they are not, or not all."""
        folder = root / self.name
        if not folder.is_dir():
            raise UserError(f"{self.name} is not in '{root}': 'fairflac data get {self.name}' says how to obtain it")
        if (folder / UNFINISHED).exists():
            raise UserError(f"'{folder}' is not complete: run 'fairflac data get {self.name} --from …' to its end")
        return folder

    def _explain(self, root: Path, say: Callable[[str], None]) -> None:
        if (root / self.name).is_dir():
            say(f"{root / self.name} is there; 'fairflac data check {self.name}' says whether it is whole.")
        say(f"{self.name} cannot be fetched for you. What to do:")
        last = f"fairflac data get {self.name} --from FOLDER (or the .tar or .zip that you have)"
        for number, step in enumerate((*self.steps, last), start=1):
            say(f"  {number}. {step}")
        say(f"Then there is, in {root / self.name}:")
        for line in self.layout:
            say(f"  {line}")
        say(f"Size: {self.size}")

    def _take_over(self, source: Path, folder: Path) -> int:
        with opened(source) as files:
            wanted = {target: read for path, read in files.items() if (target := self.place(path))}
            if not wanted:
                raise UserError(f"'{source}' has no file of {self.name}: expected {', '.join(self.layout)}")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / UNFINISHED).touch()
            with meter(f"copying {self.name}", len(wanted)) as bar:
                for target, read in wanted.items():
                    _write(folder / target, read())
                    bar.advance()
        (folder / UNFINISHED).unlink()
        return len(wanted)


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all. Not synced: a hundred thousand times that takes hours, and `check` opens every image."""
    if path.is_file() and path.read_bytes() == content:
        return  # its time stays, and so does what was cached of it
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)
