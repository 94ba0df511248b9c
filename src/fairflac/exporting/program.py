"""How to use a model, as a model card shows it."""

import json
import shlex
from pathlib import PurePath

from fairflac.data.pixels.decode import DRAFT, Fit
from fairflac.data.pixels.resample import centre_offset
from fairflac.exporting.formats import INPUT, OUTPUTS
from fairflac.inference.metadata import Facts
from fairflac.runs.directory import Run

FITS: dict[Fit, str] = {"cover": "ImageOps.fit(image, {size}, {filter})", "squash": "image.resize({size}, {filter})"}
FILTER = "Image.Resampling.BILINEAR"
# By the ending of the file: what to import, and how pixels become probabilities.
RUNTIMES = {
    ".onnx": (
        "import onnxruntime",
        """session = onnxruntime.InferenceSession({file!r}, providers=["CPUExecutionProvider"])
probabilities = session.run(["{output}"], {{"{input}": pixels}})[0][0]""",
    ),
    ".pt": (
        "import torch",
        """model = torch.jit.load({file!r})
probabilities = model(torch.tensor(pixels))[1][0].numpy()""",
    ),
}
RUNTIMES[".ts"] = RUNTIMES[".pt"]


def using(facts: Facts, run: Run, file: str | None) -> list[str]:
    """With this program, and where the file is a whole graph, without it."""
    model = shlex.quote(file or "/".join(run.path.resolve().parts[-3:]))
    lines = [f"fairflac predict {model} photos/", *([] if file else [f"fairflac export {model} --to onnx"])]
    shown = ["```bash\npip install fairflac\n" + "\n".join(lines) + "\n```"]
    runtime = RUNTIMES.get(PurePath(file).suffix) if file else None
    if file and runtime:
        shown += ["Or without it:", f"```python\n{_program(facts, file, *runtime)}\n```"]
    return shown


def _program(facts: Facts, file: str, imports: str, answer: str) -> str:
    """The same as `fairflac predict`, but for images of more than 8 bits a channel."""
    (height, width), (rows, columns) = facts.image_size, facts.decoded_size
    top, left = centre_offset(facts.decoded_size, facts.image_size)
    fitted = FITS[facts.fit].format(size=(columns, rows), filter=FILTER)
    return f"""import numpy as np
{imports}
from PIL import Image, ImageOps

classes = {list(facts.classes)}
file = Image.open("photo.jpg")
file.draft("RGB", {(DRAFT * columns, DRAFT * rows)})
image = ImageOps.exif_transpose(file).convert("RGBA")
image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
image = {fitted}
pixels = np.asarray(image)[None, {top}:{top + height}, {left}:{left + width}]
{answer.format(file=file, input=INPUT, output=OUTPUTS[1])}
print(classes[probabilities.argmax()], probabilities.max())"""


FIT_WORDS: dict[Fit, str] = {
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
        FIT_WORDS[facts.fit].format(size=_size(facts.decoded_size)),
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
