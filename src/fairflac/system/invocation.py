"""The command that the user typed, for the record of what it makes. A program that imports fairflac has none."""

import shlex
from collections.abc import Sequence

_words: tuple[str, ...] | None = None


def remember(words: Sequence[str] | None) -> None:
    """What followed `fairflac`; None: nobody typed anything."""
    global _words
    _words = None if words is None else tuple(words)


def typed_words() -> tuple[str, ...] | None:
    """For a process that is started to do a part of it."""
    return _words


def typed_command() -> str | None:
    """As it can be typed again, quoted where a shell needs it."""
    return None if _words is None else shlex.join(["fairflac", *_words])
