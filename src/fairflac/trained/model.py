"""A classifier as it is used: pixels in, logits out, whatever it was made with."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairflac.data.base import BiasedDataset
from fairflac.data.boxes import centre_offset
from fairflac.data.decode import Fit
from fairflac.predictions import Predictions
from fairflac.progress import meter

BATCH = 128


@dataclass(frozen=True)
class Trained:
    """Everything that prediction needs; normalisation is part of `logits`."""

    source: str  # where it comes from, for messages
    logits: Callable[[np.ndarray], np.ndarray]  # (B, H, W, 3) uint8 RGB of `image_size` → (B, C) float32
    image_size: tuple[int, int]  # that the network sees
    decoded_size: tuple[int, int]  # that files are decoded to, before their middle is cut out
    classes: tuple[str, ...] | None  # None: the file does not say
    fit: Fit = "cover"  # how files are brought to `decoded_size`

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """(B, H, W, 3) uint8 of `decoded_size` (or any that is large enough) → (B, C) logits."""
        height, width = self.image_size
        top, left = centre_offset((images.shape[1], images.shape[2]), self.image_size)
        return self.logits(np.ascontiguousarray(images[:, top : top + height, left : left + width]))


def predictions(model: Trained, data: BiasedDataset, *, silent: bool = False) -> Predictions:
    """The table that every metric is computed from. The features of such a model are its logits."""
    parts = []
    with meter("predicting", len(data), silent=silent) as bar:
        for start in range(0, len(data), BATCH):
            parts.append(model(np.asarray(data.images[start : start + BATCH])))
            bar.advance(len(parts[-1]))
    logits = np.concatenate(parts)
    attributes = data.task.attributes
    return Predictions(
        index=np.arange(len(data)),
        y=data.y,
        prediction=logits.argmax(1),
        score=probabilities(logits).max(1),
        features=logits,
        bias=data.bias,
        aligned={name: data.bias[name] == np.array(attributes[name].aligned)[data.y] for name in data.bias},
        min_cell={name: attributes[name].min_cell for name in data.bias},
        repeats={name: repeats for name in data.bias if (repeats := attributes[name].repeats)},
        images=data.identity,
    )


def probabilities(logits: np.ndarray) -> np.ndarray:
    """(B, C) logits → (B, C) shares of 1."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    shares: np.ndarray = raised / raised.sum(1, keepdims=True)
    return shares
