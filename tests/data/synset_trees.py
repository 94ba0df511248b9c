"""Small trees of folders with the names of ImageNet's, and tiny photographs in them."""

from pathlib import Path

import numpy as np
from PIL import Image

from fairflac.data.sets.imagenet9 import ALL


def plant(folder: Path, per_synset: int, synsets: tuple[str, ...] = ALL, suffix: str = ".JPEG") -> list[str]:
    """Noise of 20 x 16 pixels, no two alike; the names in sorted order. Folders are made in an order of no meaning."""
    rng = np.random.default_rng(len(synsets) * 100 + per_synset)
    names = []
    for synset in rng.permutation(synsets).tolist():
        (folder / synset).mkdir(parents=True)
        for number in reversed(range(per_synset)):
            name = f"{synset}/photo_{number:03d}{suffix}"
            Image.fromarray(rng.integers(0, 255, (16, 20, 3), dtype=np.uint8)).save(folder / name, "JPEG")
            names.append(name)
    return sorted(names)
