"""What the user asked for, and the images that this is about."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from PIL import Image

from fairflac.data.folder import list_folder
from fairflac.data.listing import Listing
from fairflac.data.table import list_table
from fairflac.debias.bias_models import BiasModel, bias_model, taught
from fairflac.debias.budget import Size, fitting
from fairflac.errors import UserError
from fairflac.files import write_text

HELD_OUT = 0.2  # of the images, to choose by; and as many to test on, where there is no test folder
LOOKED_AT = 64  # images whose size is looked at
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


def planned(request: Request) -> Size:
    """As kept from an earlier call, or made now."""
    path, key = request.output / PLAN, request.key()
    with suppress(OSError, ValueError, KeyError, TypeError):  # there may be none, or a damaged one
        kept = json.loads(path.read_text())
        if kept["key"] == key:
            return Size(**kept["size"])
    listing = request.listing()
    size = fitting(training_images(listing), shorter_side(listing), request.budget)
    write_text(path, json.dumps({"key": key, "size": asdict(size)}, indent=1))
    return size


def training_images(listing: Listing) -> int:
    """About so many: broken files and copies are not known yet."""
    splits = listing.splits or ()
    own = len(listing.names) if not splits else sum(split == "train" for split in splits)
    cut = sum(name not in splits for name in ("validation", "test"))
    return max(round(own * (1 - cut * HELD_OUT)), 1)


def shorter_side(listing: Listing) -> int:
    """The median over some images, from their headers alone."""
    step = max(len(listing.names) // LOOKED_AT, 1)
    sides = sorted(side for name in listing.names[::step] if (side := _side(listing.folder / name)))
    if not sides:
        raise UserError(f"none of the files looked at in '{listing.folder}' can be read as an image")
    return sides[len(sides) // 2]


def _side(path: Path) -> int | None:
    try:
        with Image.open(path) as image:
            return min(image.size)
    except Exception:  # Pillow raises nearly anything; reading the images names what is broken
        return None
