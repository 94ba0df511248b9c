"""Mistakes that a user can mend. The command line prints each as one line and exits with code 2."""

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn


class UserError(Exception):
    """A mistake that a user can mend: what was wrong, where, and what to do, in one line.

    Args:
        message: of which line breaks become blanks.

    Example:
        >>> try:  # doctest: +SKIP
        ...     fairflac.train("biased-digits", "flca")
        ... except fairflac.UserError as error:
        ...     print(error)
        unknown method 'flca': did you mean 'flac'?
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class RunInUse(UserError):
    """Another process holds the lock of this run directory."""


class Diverged(UserError):
    """A value of the training is no longer finite."""


class NotFinite(Diverged, ValueError):
    """A loss was given such values: a wrong argument to those with a training loop of their own."""


class Stopped(Exception):
    """Training was asked to stop (Ctrl-C, SIGTERM) and has saved its state."""


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> NoReturn:
    """Reject a name that is not in `known`, suggesting the nearest valid one. `where`: such as "of table2"."""
    raise UserError(f"unknown {kind} '{name}' {where}".rstrip() + f": {hint(name, known)}")


def hint(name: str, known: Iterable[str]) -> str:
    """The nearest name, or all of them."""
    known = sorted(known)
    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"


def in_plain_words(complaint: str) -> str:
    """Of pydantic: "Input should be a valid number, unable to parse string …" → "it should be a valid number"."""
    first, _, _ = complaint.partition(", unable to parse")
    return " ".join(first.replace("Value error, ", "").replace("Input should", "it should").split()).rstrip(".")


def describe_os_error(error: OSError) -> str:
    """One line for an operating-system error: a full disk or a folder without write permission."""
    where = f" '{error.filename}'" if error.filename else ""
    advice = {
        errno.ENOSPC: "the disk is full; free some space and start again, finished work is kept",
        errno.EDQUOT: "your quota is used up; free some space and start again, finished work is kept",
        errno.EFBIG: "it would be larger than a file may be here (ulimit -f); start again where it may",
        errno.ESTALE: "the network disk has lost it; start again, finished work is kept",
        errno.EIO: "the disk cannot be read or written; start again on a sound one",
        errno.EACCES: "no permission; choose another folder",
        errno.EPERM: "no permission; choose another folder",
        errno.EROFS: "the file system is read-only; choose another folder",
        errno.ENOTDIR: "a file stands where a folder is needed; choose another folder",
        errno.EEXIST: "a file stands where a folder is needed; choose another folder",
        errno.EISDIR: "a folder stands where a file is needed; choose another name",
        errno.ENOENT: "no such file or folder; check the path",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"cannot use{where}: {advice}"
