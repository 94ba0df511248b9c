"""Batches: which samples make up each, and what a network sees of them."""

from collections.abc import Generator, Sequence
from contextlib import closing

import numpy as np
import torch
from torch import Tensor

from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.augment import Augment, unit_floats
from fairflac.data.pixels.live import LiveImages, read_ahead
from fairflac.data.pixels.resample import centre_offset
from fairflac.data.pixels.stored import Pixels, StoredImages
from fairflac.errors import UserError
from fairflac.types import PairedSampling, TaskSpec


def epoch_batches(
    n: int,
    batch_size: int,
    *,
    seed: int,
    epoch: int,
    rank: int = 0,
    world: int = 1,
    weights: Tensor | None = None,
    paired: PairedSampling | None = None,
) -> Tensor:
    """(steps, batch_size / world) indices for one process.

    The last incomplete batch is left out, because pair losses on a few samples are noise. All processes cut the same
    shuffled order, so that together they see the batches that one process would see alone. With (N,) weights the
    samples of an epoch are drawn with replacement. With `paired` each batch has its share of scarce samples, and the
    rest of it comes from the shuffled order.
    """
    batch_size = min(batch_size, n - n % world)  # a set smaller than a batch is one batch
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    if weights is None:
        order = torch.randperm(n, generator=generator)
    else:  # by hand: torch.multinomial takes no more than 2^24 samples
        ends = weights.cpu().double().cumsum(0)
        order = torch.searchsorted(ends, torch.rand(n, dtype=torch.float64, generator=generator) * ends[-1], right=True)
    steps = n // batch_size
    rows = order[: steps * batch_size].view(steps, batch_size)
    if paired is not None:
        rows = _with_scarce(rows, paired, generator)
    return rows.view(steps, world, batch_size // world)[:, rank]


def _with_scarce(rows: Tensor, paired: PairedSampling, generator: torch.Generator) -> Tensor:
    """(steps, batch_size) → the same with scarce samples in the place of some, in random order within a batch."""
    group = paired.group.cpu()
    groups = [torch.where(group == number)[0] for number in range(int(group.max()) + 1)]
    if not groups:
        return rows
    count = max(1, round(paired.share * rows.shape[1]))
    turns = -(-count * len(rows) // len(groups))  # of all groups, each time in another order
    columns = [members[torch.randperm(len(members), generator=generator)] for members in groups]
    drawn = torch.stack([members.repeat(-(-turns // len(members)))[:turns] for members in columns], 1)
    drawn = drawn.gather(1, torch.rand(drawn.shape, generator=generator).argsort(1))
    mixed = torch.cat([drawn.flatten()[: count * len(rows)].view(-1, count), rows[:, count:]], 1)
    return mixed.gather(1, torch.rand(mixed.shape, generator=generator).argsort(1))


def to_device(x: Tensor, device: torch.device) -> Tensor:
    """A copy to a GPU that nobody waits for: such memory must be pinned, or the copy is made at once after all."""
    return (x.pin_memory() if device.type == "cuda" else x).to(device, non_blocking=True)


class ImageInputs:
    """Images of one split, turned into normalised channels-last floats a batch at a time.

    They may be stored larger than the network takes them: without augmentation it sees their middle.
    """

    def __init__(self, images: Pixels, task: TaskSpec, device: torch.device, augment: Augment | None = None) -> None:
        stored, size = images.shape[1:3], task.image_size
        if stored[0] < size[0] or stored[1] < size[1]:
            raise UserError(
                f"images of {stored[0]} x {stored[1]} are too small: the network takes {size[0]} x {size[1]}"
            )
        # (N, H, W, 3) uint8, no copy
        self.images = images if isinstance(images, StoredImages) else torch.from_numpy(images)
        self.read: tuple[Tensor, np.ndarray] | None = None  # the batch that was announced last, and its pixels
        self.mean = torch.tensor(task.mean, device=device).view(1, 3, 1, 1)
        self.std = torch.tensor(task.std, device=device).view(1, 3, 1, 1)
        self.augment = augment
        self.device = device
        top, left = centre_offset((stored[0], stored[1]), size)
        self.middle = (slice(None), slice(top, top + size[0]), slice(left, left + size[1]))

    def ahead(self, batches: Sequence[Tensor]) -> Generator[Tensor]:
        """The same batches of indices, one after the other; images that are live are decoded before they are needed."""
        if not isinstance(self.images, LiveImages):
            yield from batches
            return
        with closing(read_ahead(self.images, (index.numpy() for index in batches))) as pixels:
            for index, raw in zip(batches, pixels, strict=True):
                self.read = index, raw
                yield index
        self.read = None

    def _raw(self, index: Tensor) -> Tensor:
        if isinstance(self.images, Tensor):
            return self.images.index_select(0, index)  # copies whole images, where indexing would copy byte by byte
        if self.read is not None and self.read[0] is index:
            return torch.from_numpy(self.read[1])
        return torch.from_numpy(np.asarray(self.images[index.numpy()]))

    def __call__(self, index: Tensor, views: int = 1, epoch: int = 0) -> tuple[Tensor, ...]:
        """(B,) → `views` tensors (B, 3, H, W); the epoch matters to augmentation only."""
        raw = self._raw(index)
        if self.augment is None:
            raw = raw[self.middle].contiguous()  # floats of a part with gaps would lose the channels-last order
            return (self._normalise(unit_floats(to_device(raw, self.device))),) * views
        raw = to_device(raw, self.device)
        images = (self.augment(raw, index, epoch=epoch, view=view) for view in range(views))
        return tuple(self._normalise(x) for x in images)

    def _normalise(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / self.std).contiguous(memory_format=torch.channels_last)


class VectorInputs:
    """Vectors of one split, as they are."""

    def __init__(self, vectors: np.ndarray, device: torch.device, augment: Augment | None = None) -> None:
        if augment is not None:
            raise UserError("vectors are not images: set augment = 'none'")
        self.vectors = torch.from_numpy(vectors)  # (N, D) float32, no copy
        self.device = device

    def ahead(self, batches: Sequence[Tensor]) -> Generator[Tensor]:
        """As they are: nothing has to be decoded."""
        yield from batches

    def __call__(self, index: Tensor, views: int = 1, epoch: int = 0) -> tuple[Tensor, ...]:
        """(B,) → `views` times the same (B, D)."""
        return (to_device(self.vectors.index_select(0, index), self.device),) * views


def inputs_of(data: BiasedDataset, device: torch.device, augment: Augment | None = None) -> ImageInputs | VectorInputs:
    """The samples of a split as batches: of images or of vectors."""
    if isinstance(data.images, np.ndarray) and data.images.ndim == 2:
        return VectorInputs(data.images, device, augment)
    return ImageInputs(data.images, data.task, device, augment)
