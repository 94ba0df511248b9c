"""What the user asked for, and the images that this is about."""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image

from fairflac.data.decode import decode
from fairflac.data.folder import list_folder
from fairflac.data.listing import Listing
from fairflac.data.table import list_table
from fairflac.debias.bias_models import BiasModel, bias_model, taught
from fairflac.debias.budget import USUAL, BiasWork, Size, batch_size, epochs, fitting
from fairflac.debias.choice import VANILLA
from fairflac.debias.clock import Clock
from fairflac.errors import UserError
from fairflac.files import write_text

HELD_OUT = 0.2  # of the images, to choose by; and as many to test on, where there is no test folder
LOOKED_AT = 64  # images, decoded to a square of `TRIED` pixels
TRIED = 72
PLAN = "plan.json"


@dataclass(frozen=True)
class Request:
    """The command line of `fairflac debias`."""

    path: Path
    output: Path
    bias_model: str
    seed: int = 0
    budget: float | None = None  # seconds
    attribute: str | None = None
    attribute_from: Path | None = None
    changes: dict[str, Any] = field(default_factory=dict)  # `--set`
    allow_outside: bool = False
    strict: bool = False

    @property
    def dataset(self) -> str:
        return "folder" if self.path.is_dir() else "csv"

    def data_settings(self) -> dict[str, Any]:
        own: dict[str, Any] = {"path": str(self.path.expanduser().resolve()), "validation": HELD_OUT, "test": HELD_OUT}
        own |= {"strict": True} if self.strict else {}
        return own | ({"allow_outside": True} if self.allow_outside and self.dataset == "csv" else {})

    def key(self) -> str:
        """The same for the same request of the same images; a plan is made once, however fast the machine is later."""
        names = sorted(self.listing().names)
        asked = [str(self.path.resolve()), self.budget, self.seed, sorted(map(str, self.changes.items())), names]
        return sha256(json.dumps(asked).encode(errors="surrogateescape")).hexdigest()[:16]

    def listing(self) -> Listing:
        """Without attributes."""
        if self.dataset == "folder":
            return list_folder(self.path)
        return list_table(self.path, (), self.allow_outside)

    def stage_one(self, size: Size) -> BiasModel:
        if self.attribute_from is not None and self.attribute is None:
            raise UserError("--attribute-from says where labels are: name the attribute too, with --attribute NAME")
        if self.attribute is None:
            return bias_model(self.bias_model, size)
        return taught(self.path, self.attribute, self.attribute_from, self.output, allow_outside=self.allow_outside)

    def provisional(self) -> Size:
        """What would be trained if time did not matter; nothing is measured for it."""
        images = training_images(self.listing())
        batch = batch_size(images)
        return Size(*USUAL, epochs(images), batch, max(images // batch, 1), 0.0)


@dataclass(frozen=True)
class Plan:
    """What is trained. Decided once and kept: a command that was stopped goes on with the same runs."""

    path: Path
    key: str  # of the request
    size: Size
    epochs: dict[str, int]  # by model, as decided when its turn came

    def of(self, model: str) -> Size:
        """As decided; a model whose turn has not come gets no more than vanilla, or they could not be compared."""
        most = self.epochs.get(VANILLA, self.size.epochs)
        return replace(self.size, epochs=self.epochs.get(model, most))

    def decide(self, model: str, epochs: int) -> "Plan":
        """Written down before the model is trained."""
        plan = replace(self, epochs={**self.epochs, model: epochs})
        plan.write()
        return plan

    def write(self) -> None:
        content = {"key": self.key, "size": asdict(self.size), "epochs": self.epochs}
        write_text(self.path, json.dumps(content, indent=1))


def planned(request: Request, clock: Clock, work: BiasWork) -> Plan:
    """As kept from an earlier call, or made now; `work`: that the bias model takes."""
    path, key = request.output / PLAN, request.key()
    with suppress(OSError, ValueError, KeyError, TypeError):  # there may be none, or a damaged one
        kept = json.loads(path.read_text())
        if kept["key"] == key:
            return Plan(path, key, Size(**kept["size"]), {name: int(n) for name, n in kept["epochs"].items()})
    listing = request.listing()
    side, reading = look_at(listing)
    work = replace(work, reading=reading)
    plan = Plan(path, key, fitting(training_images(listing), side, clock, work, request.changes), {})
    plan.write()
    return plan


def training_images(listing: Listing) -> int:
    """About so many: broken files and copies are not known yet."""
    splits = listing.splits or ()
    own = len(listing.names) if not splits else sum(split == "train" for split in splits)
    cut = sum(name not in splits for name in ("validation", "test"))
    return max(round(own * (1 - cut * HELD_OUT)), 1)


def look_at(listing: Listing) -> tuple[int, float]:
    """Of some images: the median of their shorter sides, and the seconds that reading all images will take."""
    step = max(len(listing.names) // LOOKED_AT, 1)
    start = time.perf_counter()
    sides = sorted(side for name in listing.names[::step] if (side := _side(listing.folder / name)))
    seconds = (time.perf_counter() - start) / len(listing.names[::step])
    if not sides:
        raise UserError(f"none of the files looked at in '{listing.folder}' can be read as an image")
    return sides[len(sides) // 2], seconds * len(listing.names) / (os.cpu_count() or 1)


def _side(path: Path) -> int | None:
    try:
        with Image.open(path) as image:
            side = min(image.size)
            decode(path.read_bytes(), (TRIED, TRIED), "cover")
            return side
    except Exception:  # Pillow raises nearly anything; reading the images names what is broken
        return None
