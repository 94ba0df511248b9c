"""Images as embeddings, for a network of which a part is frozen: computed once for all epochs, methods and models."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric

from fairflac.data.base import BiasedDataset
from fairflac.data.batches import ImageInputs
from fairflac.discovery.features import FeatureExtractor, embedding, extract
from fairflac.nets.weights import content_digest
from fairflac.types import Network, TaskSpec


@dataclass(frozen=True)
class Embeddings:
    """Turns images into what a network is trained on; what is computed is kept in a folder."""

    cache: Path
    fabric: Fabric
    silent: bool = False

    def __call__(self, net: Network, data: BiasedDataset) -> BiasedDataset:
        """The same samples as embeddings where a part of the network is frozen, and as they are elsewhere."""
        if not net.frozen or data.images.ndim == 2:
            return data
        extractor = backbone_extractor(net.to(self.fabric.device), data.task, self.fabric.device)
        found = data.images
        for first in (True, False):  # of several processes one computes them, and the others read
            if first == self.fabric.is_global_zero:
                found = extract(extractor, data.images, self.cache, silent=self.silent or not first)
            self.fabric.barrier()
        return replace(data, images=found)


def backbone_extractor(net: Network, task: TaskSpec, device: torch.device) -> FeatureExtractor:
    """The frozen part of a network, on images as they are stored for `task`."""
    weights = content_digest(net.get_submodule("backbone").state_dict())
    identity = f"{weights} {task.image_size} {task.mean} {task.std}"

    def features(images: np.ndarray) -> np.ndarray:
        return embedding(net, *ImageInputs(images, task, device)(torch.arange(len(images))))

    return FeatureExtractor(type(net).__name__, task.image_size, identity, features)
