# %% [markdown]
# # A folder of photographs, from end to end
#
# You have a folder with a subfolder for each class, and no other labels. Is there something in the images that
# gives the class away? Does a model lean on it? Can a better one be had? Five calls answer that; each is a
# command as well.
#
# So that you can see how right the answers are, the folder is made here, with a shortcut planted in it: two
# kinds of signs on photographs, of which one mostly stands before a palace and the other before flowers.

# %%
import os
import textwrap
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

import fairflac
from fairflac.auditing.pipeline import verdict

QUICK = bool(os.environ.get("FAIRFLAC_QUICK"))  # a try of a few seconds, for tests
COUNT, EPOCHS = (60, 1) if QUICK else (400, 12)
PLACES = dict(zip(("palace", "flowers"), load_sample_images().images, strict=True))  # two photographs of scikit-learn
SIGNS = {"lying": "palace", "standing": "flowers"}  # a class, and where it is mostly seen

# %% [markdown]
# ## The images
#
# 95 of 100 training images of a class show its own place. In the test images each class is before each place
# equally often: the place says nothing there.

# %%


def draw(sign, place, rng):
    """A part of a photograph with a light bar on it, which lies or stands."""
    photograph = PLACES[place]
    side = rng.integers(60, 160)
    top, left = (rng.integers(0, length - side) for length in photograph.shape[:2])
    image = Image.fromarray(photograph[top : top + side, left : left + side]).resize((40, 40))
    pixels = np.array(image).astype(float)
    a, b = rng.integers(4, 12), rng.integers(8, 28)
    bar = (slice(b, b + 4), slice(a, a + 22))
    region = bar if sign == "lying" else bar[::-1]
    pixels[region] = 0.35 * pixels[region] + 0.65 * 255
    return Image.fromarray(pixels.astype(np.uint8))


rng = np.random.default_rng(0)
for split, count, own in (("train", COUNT, 0.95), ("test", COUNT // 2, 0.5)):
    for sign, place in SIGNS.items():
        folder = Path("photos") / split / sign
        folder.mkdir(parents=True, exist_ok=True)
        other = next(name for name in PLACES if name != place)
        for number in range(count):
            where = place if number < own * count else other
            draw(sign, where, rng).save(folder / f"{number:03}-{where}.png")

figure, axes = plt.subplots(2, 8, figsize=(8, 2.2))
for row, sign in zip(axes, SIGNS, strict=True):
    files = sorted((Path("photos") / "train" / sign).iterdir())
    for axis, file in zip(row, [*files[:7], files[-1]], strict=True):
        axis.imshow(Image.open(file))
        axis.axis("off")
figure.suptitle("lying (above) and standing; the last of each is an exception")
plt.show()

# %% [markdown]
# ## Is there a shortcut?
#
# `discover` puts every training image into a group, without labels: `fairflac discover photos`. The page that it
# writes shows the images. Here the names of the files tell how right it was.

# %%
workspace = fairflac.Workspace(data=Path("data"), silent=True)
found = fairflac.discover("photos", output="found", workspace=workspace, silent=True)
print(f"shortcuts found: {len(found.shortcuts)}; the page is {found.page}; the groups of the first:")
for group in (0, 1):
    rows = found.shown[0].testimony.value == group
    places = Counter(Path(path).stem.split("-")[1] for path in np.array(found.listing.names)[rows])
    print(f"group {group}:", ", ".join(f"{count} before {place}" for place, count in sorted(places.items())))

# %% [markdown]
# ## A better model
#
# `debias` trains an ordinary model and others against what was found, and keeps the best, judged on held-out
# images: `fairflac debias photos --budget 10m`. Without a budget it chooses network and epochs itself; here a
# small network keeps it short.

# %%
small = {"net": "simple-conv", "kernel_size": 5, "strides": [2, 1, 2, 1], "size": 32, "epochs": EPOCHS}
outcome = fairflac.debias("photos", output="debiased", workspace=workspace, settings=small)
print(textwrap.fill(outcome.choice.reasons[0], 100))

# %% [markdown]
# ## What did it bring?
#
# On test images, beside the places that no model was told. The group that matters is where the place misleads.

# %%


def beside_places(model):
    """Shares of right answers where the place is that of the class, and where it is not."""
    right, seen = Counter(), Counter()
    for answer in fairflac.predict(model, "photos/test", silent=True):
        sign, place = Path(answer.path).parent.name, Path(answer.path).stem.split("-")[1]
        kind = "own place" if SIGNS[sign] == place else "other place"
        seen[kind] += 1
        right[kind] += answer.guesses[0].name == sign
    return {kind: right[kind] / seen[kind] for kind in ("own place", "other place")}


shares = {name: beside_places(run) for name, run in outcome.runs.items()}
for name, share in shares.items():
    print(f"{name:10}", *(f"{kind} {value:.0%}  " for kind, value in share.items()))

figure, axis = plt.subplots(figsize=(5, 2.6))
for offset, kind in ((-0.2, "own place"), (0.2, "other place")):
    axis.bar(
        [n + offset for n in range(len(shares))], [100 * share[kind] for share in shares.values()], 0.4, label=kind
    )
axis.set_xticks(range(len(shares)), shares)
axis.set_ylabel("% right")
axis.legend(loc="lower right")
figure.suptitle("test images before the place of their class, and before the other one")
plt.show()

# %% [markdown]
# ## Ask the same of any model
#
# `audit` takes a run, an exported file, ONNX, TorchScript or weights, and looks for what the model leans on,
# again without labels: `fairflac audit debiased/model.safetensors photos`. Here is the ordinary model.

# %%
audit = fairflac.audit(outcome.runs["vanilla"], "photos", output="audit.html", workspace=workspace, silent=True)
found = verdict(audit)
print(textwrap.fill(" ".join([f"{found.word}.", found.reasons[0]]), 100))

# %% [markdown]
# What is left in `debiased`: the model with its card, the report, the page of the groups, every run. More on
# [your own images](../docs/own-images.md), [how far to believe discovery](../docs/discovery.md) and
# [the audit](../docs/audit.md).
