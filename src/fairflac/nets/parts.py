"""A large batch in the memory of a small one: its samples pass the network in parts, and once more for the gradient."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from fairflac.types import Network, Output


def in_parts(net: Network, x: Tensor, size: int | None) -> Output:
    """`net(x)`, at most `size` samples at a time; None: all at once.

    A loss of all samples gets their outputs with gradients, and no part keeps what its gradient needs: it is computed
    again when that is due, one part after the other (gradient caching, Gao et al., RepL4NLP 2021, in the form of
    checkpoints). Value and gradient are those of the whole batch, but for BatchNorm, which sees parts.
    """
    if size is None or len(x) <= size:
        return net(x)

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), _buffers_kept(net)

    parts = x.tensor_split(-(-len(x) // size))  # of equal size but for one sample: BatchNorm needs some
    outputs = [checkpoint(net, part, use_reentrant=False, context_fn=contexts) for part in parts]
    return Output(*map(torch.cat, zip(*outputs, strict=True)))


@contextmanager
def _buffers_kept(net: Network) -> Iterator[None]:
    """BatchNorm counts every part once, though it passes twice."""
    before = [buffer.clone() for buffer in net.buffers()]
    try:
        yield
    finally:
        for buffer, value in zip(net.buffers(), before, strict=True):
            buffer.copy_(value)
