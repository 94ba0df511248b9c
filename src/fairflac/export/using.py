"""How to use a model, as a model card shows it."""

import shlex
from pathlib import PurePath

from fairflac.data.boxes import centre_offset
from fairflac.data.decode import DRAFT, Fit
from fairflac.export.graph import INPUT, OUTPUTS
from fairflac.runs import Run
from fairflac.trained.facts import Facts

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
