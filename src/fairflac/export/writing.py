"""A run → a file for other programs, checked before it is kept."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from fairflac.build import load_method
from fairflac.errors import UserError, unknown
from fairflac.export import parity
from fairflac.export.card import model_card
from fairflac.export.formats import FORMATS
from fairflac.export.preprocessing import as_json
from fairflac.files import check_writable, replacing, write_text
from fairflac.runs import Run
from fairflac.trained.facts import Facts
from fairflac.trained.from_run import trained
from fairflac.trained.opening import open_model


@dataclass(frozen=True)
class Exported:
    file: Path
    card: Path
    preprocessing: Path | None  # beside weights alone, which cannot do it themselves
    parity: parity.Parity


def export(
    run: Run, to: str, output: Path | None = None, *, licence: str = "other", folder: Path | None = None
) -> Exported:
    """Written only if the file, opened again, answers as the run does; without a name as model.* in `folder`, or in
    the run."""
    if to not in FORMATS:
        unknown("format", to, FORMATS)
    run.check_done()
    form = FORMATS[to]
    file = output or (folder or run.path) / f"model{form.endings[0]}"
    card, steps = file.with_suffix(".md"), file.with_suffix(".json") if to == "safetensors" else None
    _check_places(file, form.endings, [place for place in (card, steps) if place])
    check_writable(file)
    method = load_method(run)
    facts = Facts.of(run, method.spec)
    content = form.write(method, facts)
    # A GPU may round as it likes: graphs are opened on the CPU, and weights where the run is.
    original = trained(method, facts, str(run.path), None if to == "safetensors" else "cpu")
    with tempfile.TemporaryDirectory() as aside:
        trial = Path(aside) / file.name
        trial.write_bytes(content)
        found = parity.check(original, open_model(str(trial)), run)
    with replacing(file) as stream:
        stream.write(content)
    write_text(card, model_card(run, licence=licence, file=file.name))
    if steps:
        write_text(steps, as_json(facts))
    return Exported(file, card, steps, found)


def _check_places(file: Path, endings: tuple[str, ...], beside: list[Path]) -> None:
    """Before the work: a name that fits, and no file of the user's in the way."""
    if file.is_dir():
        raise UserError(f"'{file}' is a folder: name the file too, for example -o {file / ('model' + endings[0])}")
    if file.suffix not in endings:
        raise UserError(f"-o {file}: a file of this format ends in {' or '.join(endings)}")
    for place in beside:
        if place.exists() and "fairflac" not in place.read_text(errors="replace"):
            raise UserError(f"'{place}' is in the way of what is written beside '{file.name}': move one of them")
