"""Where datasets and decoded images live."""

import os
from pathlib import Path


def data_root() -> Path:
    """A folder in the user's cache, unless FAIRFLAC_DATA says otherwise."""
    return Path(os.environ.get("FAIRFLAC_DATA", Path.home() / ".cache" / "fairflac"))
