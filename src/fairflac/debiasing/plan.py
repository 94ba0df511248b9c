"""What is trained, and how long: decided once, and kept."""

import io
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from fairflac.data.own.listing import Listing
from fairflac.data.pixels.decode import Unreadable, decode
from fairflac.data.pixels.files import ImageBytes
from fairflac.data.pixels.rows import image_row
from fairflac.debiasing.bias_model import VANILLA
from fairflac.debiasing.budget import SEARCH, BiasModelCost, TimeBudget, TrainingSetup, choose_setup
from fairflac.debiasing.request import Request, training_images
from fairflac.errors import UserError
from fairflac.nets.weights import imagenet_file
from fairflac.system.files import write_text
from fairflac.system.parse import parse_json

LOOKED_AT = 64  # images, decoded to a square of `TRIED` pixels
TRIED = 72
PLAN = "plan.json"


@dataclass(frozen=True)
class DebiasPlan:
    """What is trained. Decided once and kept: a command that was stopped goes on with the same runs."""

    path: Path
    key: str  # of the request
    size: TrainingSetup
    epochs: dict[str, int]  # by model, as decided when its turn came
    groups: dict[str, Any] | None = None  # that were found, see `TrainingGroups`

    def of(self, model: str) -> TrainingSetup:
        """As decided; a model whose turn has not come gets no more than vanilla, or they could not be compared."""
        most = self.epochs.get(VANILLA, self.size.epochs)
        return replace(self.size, epochs=self.epochs.get(model, most))

    def decide(self, model: str, epochs: int) -> "DebiasPlan":
        """Written down before the model is trained."""
        plan = replace(self, epochs={**self.epochs, model: epochs})
        plan.write()
        return plan

    def with_groups(self, groups: dict[str, Any]) -> "DebiasPlan":
        """Written down, so that they are searched for once."""
        plan = replace(self, groups=groups)
        plan.write()
        return plan

    def write(self) -> None:
        content = {"key": self.key, "size": asdict(self.size), "epochs": self.epochs, "groups": self.groups}
        write_text(self.path, json.dumps(content, indent=1))


def planned(request: Request, clock: TimeBudget, work: BiasModelCost, data: Path) -> DebiasPlan:
    """As kept from an earlier call, or made now; `work`: that the bias model takes, `data`: where weights may be."""
    path, key = request.output / PLAN, request.key()
    with suppress(OSError, ValueError, KeyError, TypeError):  # there may be none, or a damaged one
        kept = parse_json(path.read_text())
        if kept["key"] == key:
            epochs_by_model = {name: int(n) for name, n in kept["epochs"].items()}
            return DebiasPlan(path, key, TrainingSetup(**kept["size"]), epochs_by_model, kept.get("groups"))
    listing = request.listing()
    side, reading = look_at(listing)
    if request.by_groups:
        reading += len(listing.names) * SEARCH
    images, weights = training_images(listing), imagenet_file(data).is_file()
    work = replace(work, reading=reading)
    plan = DebiasPlan(path, key, choose_setup(images, side, clock, work, request.changes, pretrained=weights), {})
    plan.write()
    return plan


def look_at(listing: Listing) -> tuple[int, float]:
    """Of some images: the median of their shorter sides, and the seconds that reading all images will take.

    To reach a single row of a table others may have to be read, which says nothing: there decoding alone is measured.
    """
    looked, contents = listing.names[:: max(len(listing.names) // LOOKED_AT, 1)], ImageBytes()
    sides, seconds = [], 0.0
    for path in (listing.folder / name for name in looked):
        content = contents.or_why(path) if image_row(path) else None
        start = time.perf_counter()
        side = _side(contents.or_why(path) if content is None else content)
        seconds += time.perf_counter() - start
        sides += [side] if side else []
    if not sides:
        raise UserError(f"none of the files looked at in '{listing.folder}' can be read as an image")
    return sorted(sides)[len(sides) // 2], seconds / len(looked) * len(listing.names) / (os.cpu_count() or 1)


def _side(content: bytes | Unreadable) -> int | None:
    if isinstance(content, Unreadable):
        return None
    try:
        with Image.open(io.BytesIO(content)) as image:
            side = min(image.size)
        decode(content, (TRIED, TRIED), "cover")
        return side
    except Exception:  # Pillow raises nearly anything; reading the images names what is broken
        return None
