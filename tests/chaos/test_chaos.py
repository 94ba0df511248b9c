"""The short form of `make chaos`, and proof that it would notice a loss."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.ledger import Ledger
from chaos.power import fail, names, states
from fairflac.system.files import write_text

TESTS = Path(__file__).parents[1]  # where `chaos` is a package
# In processes of their own, as hooks stay for as long as a process lives.
CARELESS = "(folder / 'new').write_text('new content'); os.replace(folder / 'new', folder / 'file')"
CAREFUL = "write_text(folder / 'file', 'new content')"
WRITES = """
import os, sys
from pathlib import Path
from chaos.operations import watch
from chaos.power import Recorder
from fairflac.system.files import write_text
for pair in sys.argv[1:]:
    folder, aside = Path(pair, "work"), Path(pair)
    watch(folder, Recorder(folder, aside, lambda kind, places: None))
    {}
"""


@pytest.mark.parametrize(("how", "whole"), [(CARELESS, False), (CAREFUL, True)])
def test_what_power_that_fails_leaves_of_a_file(tmp_path: Path, how: str, whole: bool) -> None:
    pairs = [tmp_path / str(number) for number in range(12)]
    for pair in pairs:
        write_text(pair / "work" / "file", "old")
    before = [(states(pair / "work"), names(pair / "work")) for pair in pairs]
    subprocess.run([sys.executable, "-c", WRITES.format(how), *pairs], check=True, cwd=TESTS)
    for seed, (pair, known) in enumerate(zip(pairs, before, strict=True)):
        fail(pair / "work", pair, *known, random.Random(seed))
    found = {(pair / "work" / "file").read_text() for pair in pairs}
    assert (found == {"new content"}) is whole
    assert whole or ("old" in found and any(text != "old" and len(text) < len("new content") for text in found))


def test_what_is_lost_is_counted() -> None:
    ledger = Ledger()
    ledger.enter("kill -9", "train", "in a checkpoint", "all is well", "")
    assert ledger.sound
    ledger.enter("kill -9", "train", "in a checkpoint", "all is well", "another content: predictions.npz")
    ledger.enter("kill -9", "train", "in a checkpoint", "Traceback (most recent call last):\nKeyError", "")
    assert not ledger.sound
    assert re.search(r"^all +3 +2 +1 +1 +0$", str(ledger), re.MULTILINE)


def test_a_few_kills_lose_nothing_and_a_stop_has_its_table() -> None:
    """The whole script is `make chaos`."""
    counts = [
        "--kills",
        "20",
        "--terms",
        "0",
        "--interrupts",
        "0",
        "--power",
        "20",
        "--storage",
        "0",
        "--only",
        "train",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "chaos", *counts], stdout=subprocess.PIPE, text=True, cwd=TESTS
    ) as run:
        assert run.stdout is not None
        said = [next(run.stdout) for _ in range(3)]
        run.terminate()
        table = run.stdout.read()
    assert run.returncode == 0, "".join([*said, table])
    assert re.search(r"seed 0, (3|4) of 40 trials$", table, re.MULTILINE)
    assert re.search(r"^all +(\d) +\1 +0 +0 +0$", table, re.MULTILINE)
