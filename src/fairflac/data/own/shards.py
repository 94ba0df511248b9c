"""A folder of Parquet, Arrow or tar files, which together are one set of images."""

from pathlib import Path

from fairflac.data.own.arrow_files import read_arrow, split_in
from fairflac.data.own.sheet import Sheet, join_sheets
from fairflac.data.own.tar_files import read_tar
from fairflac.data.pixels.rows import ENDINGS
from fairflac.data.pixels.tars import TAR
from fairflac.errors import UserError
from fairflac.system.files import visible_files

COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")


def read_shards(folder: Path) -> Sheet | None:
    """All files of one kind, the first of which there are any; splits go by their names. None: there are none."""
    every = list(visible_files(folder))
    found = {ending: [one for one in every if one.suffix.lower() == ending] for ending in (*ENDINGS, TAR)}
    ending, files = next(((kind, some) for kind, some in found.items() if some), ("", []))
    if not files:
        if packed := next((one for one in every if one.name.lower().endswith(COMPRESSED)), None):
            raise UserError(
                f"'{packed}' is compressed, and its images cannot be read in place: unpack it to a .tar file (gunzip, "
                "bunzip2, unxz or unzstd)"
            )
        return None
    names = [file.relative_to(folder).as_posix() for file in files]
    splits = [split_in(name) for name in names]
    if any(splits) and not all(splits):
        raise UserError(
            f"'{names[splits.index(None)]}' in '{folder}' does not say its split, and other files do: put train, val "
            "or test into its name, or move it away"
        )
    read = read_tar if ending == TAR else read_arrow
    return join_sheets(folder, folder, [read(*one) for one in zip(files, names, splits, strict=True)])
