"""Textures found by clustering: K-means on Gram matrices of VGG features (Bahng et al., ICML 2020)."""

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairflac.data.listing import MEAN, STD
from fairflac.data.texture_labels import CLUSTERS, TEXTURES
from fairflac.nets.vgg import VGG16
from fairflac.progress import meter

BATCH = 32
SAMPLES = 1024  # of one step of K-means


def compute_textures(images: np.ndarray, weights: Path, *, silent: bool = False) -> dict[str, np.ndarray]:
    """(N, H, W, 3) uint8 → (N,) clusters from 0 to 8, three times over from different beginnings, always the same ones.

    `weights` is a file of torchvision's VGG-16.
    """
    from sklearn.cluster import MiniBatchKMeans  # takes a second to import, and whoever has cluster files needs it not

    styles = gram_matrices(images, VGG16(weights).eval(), silent=silent)
    found = {}
    for seed, name in enumerate(TEXTURES):
        means = MiniBatchKMeans(CLUSTERS, batch_size=SAMPLES, n_init=3, random_state=seed)
        found[name] = means.fit_predict(styles).astype(np.int64)
    return found


@torch.no_grad()
def gram_matrices(images: np.ndarray, net: torch.nn.Module, *, silent: bool = False) -> np.ndarray:
    """One row of length one per image: which features of the net occur together, wherever in the image that is.

    A Gram matrix is symmetric, so its upper triangle is enough; what is counted once there and twice in the whole
    carries √2, so that distances are those of whole matrices.
    """
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, STD))
    rows: list[Tensor] = []
    with meter("textures", len(images), silent=silent) as bar:
        for start in range(0, len(images), BATCH):
            part = torch.from_numpy(np.array(images[start : start + BATCH])).permute(0, 3, 1, 2)
            features = net((part / 255 - mean) / std).flatten(2)  # (B, C, positions)
            gram = features @ features.mT
            upper = torch.triu_indices(*gram.shape[1:])
            weight = torch.where(upper[0] == upper[1], 1.0, math.sqrt(2))
            rows.append(torch.nn.functional.normalize(gram[:, upper[0], upper[1]] * weight))
            bar.advance(len(part))
    styles: np.ndarray = torch.cat(rows).numpy()
    return styles
