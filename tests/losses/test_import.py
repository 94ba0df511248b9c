"""The loss is for any training loop, so importing it must stay cheap."""

import subprocess
import sys


def test_importing_the_losses_brings_torch_and_nothing_else_heavy() -> None:
    heavy = {"sklearn", "pandas", "matplotlib", "lightning_fabric", "fairlearn", "pydantic", "mlxtend"}
    script = f"import sys, fairflac.losses; print(sorted({heavy!r} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
