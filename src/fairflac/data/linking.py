"""Folders that the user has already: linked, as copies of ImageNet are nobody's wish."""

from collections.abc import Iterable
from pathlib import Path

from fairflac.errors import UserError, describe_os_error


def link_folders(source: Path, target: Path, names: Iterable[str]) -> int:
    """Make `target/NAME` a link to `source/NAME`, if `source` has it; how many are linked now.

    A link that is there is renewed, a folder that is there is left as it is: it may be the only copy.
    """
    linked = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            place, home = target / name, (source / name).resolve()
            if not home.is_dir() or (place.exists() and not place.is_symlink()):
                continue
            place.unlink(missing_ok=True)
            place.symlink_to(home, target_is_directory=True)
            linked += 1
    except OSError as error:
        raise UserError(describe_os_error(error)) from error
    return linked
