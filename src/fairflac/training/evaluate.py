"""A method and a split → the table of predictions."""

from collections.abc import Iterator
from contextlib import closing
from typing import cast

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.data.base import BiasedDataset
from fairflac.data.batches import inputs_of
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.metrics.predictions import Predictions
from fairflac.system.hardware import full_precision
from fairflac.types import Output

EVALUATION_BATCH = 500


def infer(method: Method, dataset: BiasedDataset, fabric: Fabric, index: Tensor) -> Output:
    """(M, C) logits and (M, D) features of the samples at `index`, in that order, in fp32 however it is trained."""
    logits, features = zip(*infer_parts(method, dataset, fabric, index), strict=True)
    return Output(torch.cat(logits), torch.cat(features))


@torch.no_grad()
def infer_parts(method: Method, dataset: BiasedDataset, fabric: Fabric, index: Tensor) -> Iterator[Output]:
    """The same, a batch at a time."""
    inputs = inputs_of(dataset, fabric.device)
    seen: list[Tensor] = []  # `predict` returns logits only; the hook saves a second pass for the features
    hook = method.net.register_forward_hook(lambda *call: seen.append(cast(Output, call[2]).features.float()))
    training = method.training
    method.eval()
    try:
        with closing(inputs.ahead(index.split(EVALUATION_BATCH))) as parts:
            for part in parts:
                with full_precision(fabric.device):
                    logits = method.predict(*inputs(part)).float()
                yield Output(logits, seen.pop())
    finally:
        hook.remove()
        method.train(training)


def predictions(method: Method, dataset: BiasedDataset, fabric: Fabric) -> Predictions:
    """Every sample once, in index order, whatever the number of processes."""
    n, world = len(dataset), fabric.world_size
    padded = torch.arange(-(-n // world) * world) % n  # equal shares; the duplicates at the end are dropped below
    mine = padded.view(-1, world)[:, fabric.global_rank]
    logits, features = infer(method, dataset, fabric, mine)
    index = gather(mine.to(fabric.device)).cpu()
    probability, prediction = gather(logits).softmax(1).max(1)
    order = torch.from_numpy(np.unique(index.numpy(), return_index=True)[1])

    def column(values: Tensor) -> np.ndarray:
        return values.cpu()[order].numpy()

    return dataset.predictions(column(prediction), column(probability), column(gather(features)))


def collapse_advice(table: Predictions, split: str) -> str | None:
    """What to say of such a model: its group accuracies alone hide it well. None of any other."""
    if len(np.unique(table.prediction)) > 1 or len(np.unique(table.y)) == 1:
        return None
    return f"the model has collapsed: it gives every {split} image one class. Lower alpha or lr, or raise ce_weight"
