"""Balanced training: every group of class and guessed attribute counts alike."""

from typing import ClassVar, final

import torch.nn.functional as F
from torch import Tensor

from fairflac.losses.reweighting import Balance, BalancedGroups, joint_logits
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, PairedSampling, TaskSpec


@final
class Balanced(Method):
    """Ordinary training in which all groups of class and guessed attribute count alike.

    The attribute is what the bias model names, or what groups that were found say. `balance = "batches"` draws every
    group equally often; `balance = "pairs"` gives every batch a share of images whose guess is not the usual one of
    their class; `balance = "logits"` draws images as they come and adds log P(y | guess) to the logits of
    training, CE(h(x) + log P(y | guess), y), so that the guess alone gains nothing. With several bias models the guess
    is the combination of theirs.

    Paper: Idrissi et al., Simple data balancing achieves competitive worst-group-accuracy, CLeaR 2022 (RWG), for
    batches; Hong and Yang, NeurIPS 2021 (BiasBal), for logits.
    Deviations: the attribute is guessed, where both papers have its labels; Adam, where the first uses SGD.
    """

    name: ClassVar[str] = "balanced"
    needs_bias_model: ClassVar[bool] = True
    takes_bias_models: ClassVar[bool] = True

    def __init__(self, net: Network, spec: TaskSpec, *, balance: Balance = "batches") -> None:
        super().__init__(net, spec)
        self.groups = BalancedGroups(balance, spec.num_classes)

    def prepare(self, training_set: Batch) -> None:
        self.groups.start(training_set)

    def sample_weights(self) -> Tensor | None:
        return self.groups.weights

    def paired_sampling(self) -> PairedSampling | None:
        return self.groups.paired

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        logits = self.groups.adjusted(self.net(batch.x).logits, joint_logits(batch.bias_outputs))
        loss = F.cross_entropy(logits, batch.y)
        minimise(loss)
        return {"loss": loss.detach()}
