"""What has to happen to an image file before a model sees it, in words and for programs."""

import json

from fairflac.data.decode import DRAFT, Fit
from fairflac.trained.facts import Facts

FITS: dict[Fit, str] = {
    "cover": "Take the largest part from the centre with the proportions of {size}, and scale it to {size} "
    "(bilinear, with antialiasing).",
    "squash": "Scale to {size} (bilinear, with antialiasing), whatever that does to proportions.",
}


def decoding(facts: Facts) -> list[str]:
    """From a file to what an exported graph takes."""
    rows, columns = (DRAFT * side for side in facts.decoded_size)
    steps = [
        f"Decode to RGB, 8 bits a channel: a large JPEG file at the smallest of 1/8, 1/4 and 1/2 that has {columns} "
        f'columns and {rows} rows (Pillow\'s draft("RGB", ({columns}, {rows}))). Apply the EXIF orientation; what is '
        "transparent becomes white.",
        FITS[facts.fit].format(size=_size(facts.decoded_size)),
    ]
    if facts.decoded_size != facts.image_size:
        steps.append(f"Cut out the middle, {_size(facts.image_size)}.")
    return steps


def normalising(facts: Facts) -> list[str]:
    """From there to what the network takes; an exported graph does it itself."""
    mean, std = (", ".join(f"{value:g}" for value in values) for values in (facts.mean, facts.std))
    return [f"Divide by 255, subtract the mean ({mean}), divide by the standard deviation ({std}); channels first."]


def as_json(facts: Facts) -> str:
    """In words, and every number by its name."""
    return json.dumps({"steps": decoding(facts) + normalising(facts), **facts.model_dump(mode="json")}, indent=1) + "\n"


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} (height x width)" if size[0] != size[1] else f"{size[0]} x {size[1]}"
