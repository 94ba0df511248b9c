"""FLAC and FLAC-B: match similarities of the model to dissimilarities of a bias model, on conflicting pairs."""

from abc import ABC
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from fairflac.errors import UserError
from fairflac.losses.alpha import GradientBalance
from fairflac.losses.contrastive import supcon_loss
from fairflac.losses.flac import Combine, Divergence, FLACLoss, Kernel, Pairs, Reduction, Targets
from fairflac.losses.gather import gather, own_share
from fairflac.losses.reweighting import Balance, BalancedGroups, joint_logits
from fairflac.methods.base import Method
from fairflac.nets.parts import in_parts
from fairflac.types import Batch, Minimise, Network, PairedSampling, TaskSpec

VISIBLE_SPREAD = 0.1  # of similarities; less means distances below 0.02 between all unit-length features
MANY_OUT_OF_REACH = 0.25  # of S; a sure bias model has about half: all of A01
EPOCHS_TO_FALL, VISIBLE_FALL = 5, 0.9  # in so many epochs, one should have fallen to this part of the first one's loss
CE_BESIDE_SUPCON = 0.01  # as in bias-contrastive learning, whose contrastive recipe is the nearest public one


BiasOutput = Literal["features", "probabilities"]


def matched_output(logits: Tensor, features: Tensor, wanted: BiasOutput) -> Tensor:
    """(B, D_b) what pairs are found by."""
    return features if wanted == "features" else logits.softmax(1)


class PairMatching(Method, ABC):
    """L = L_task + alpha * L_FLAC (Eq. 7), with L_task = ce_weight * CE, or SupCon + ce_weight * CE over two views.

    The two final classes below differ in their bias model only. `kernel`, `divergence` and `pairs` are the paper's
    ablations. The rest is ours:

    - `bias_output`: pairs are found by the bias model's `features`, as in the paper, or by its `probabilities`;
      features of photographs can all be at about the same distance from each other, so that the threshold of Eq. 1
      puts every pair of one class into S and none of two classes.
    - `reduction = "batch"`: the sum over S is divided by the number of samples, where `mean` divides by |S|, so that
      one alpha does for few pairs and many.
    - `targets = "reachable"`: dissimilarities are moved into the range that the trained model's similarities can have,
      see `FLACLoss`; where S is large and the bias model sure of itself, this is what lets the loss fall.
    - `balance`: all groups of class and guess count alike, as in `balanced`; with `pairs`, `pair_share` of each batch
      are images whose guess is not the usual one of their class, so that S is never empty.
    - `balanced_rows`: both kinds of pairs weigh the same in every row, see `FLACLoss`, for bias that differs from class
      to class.
    - `strength`: the share of the pull on the features that is FLAC's, see `GradientBalance`, in the place of `alpha`.
    - `micro_batch`: images pass the network so many at a time, and once more for the gradient, so that the pairs of a
      large batch need the memory of a small one, see `in_parts`.
    - `combine`: what becomes of several attributes, each with its own bias model (`other_bias_models`), see `FLACLoss`.
      The guess that `balance` goes by is then the combination of theirs.
    """

    needs_bias_model: ClassVar[bool] = True
    takes_bias_models: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        alpha: Annotated[float, Field(ge=0)] = 1000.0,  # the released code's default; the paper tunes it per dataset
        task: Literal["ce", "supcon"] = "ce",
        ce_weight: Annotated[float, Field(ge=0)] | None = None,  # None: 1 alone, 0.01 beside SupCon
        exponent: Annotated[float, Field(gt=0, le=2)] = 0.5,  # of the distance in the kernel
        kernel: Kernel = "student-t",
        divergence: Divergence = "jeffreys",
        pairs: Pairs = "conflicting",
        bias_output: BiasOutput = "features",
        reduction: Reduction = "mean",
        targets: Targets | None = None,  # None: `dissimilarity`, as in the paper
        balance: Balance | None = None,
        pair_share: Annotated[float, Field(gt=0, lt=1)] | None = None,  # None: see `BalancedGroups`
        balanced_rows: bool | None = None,
        strength: Annotated[float, Field(ge=0, lt=1)] | None = None,
        micro_batch: Annotated[int, Field(ge=2)] | None = None,
        combine: Combine | None = None,  # None: the sum
    ) -> None:
        super().__init__(net, spec)
        if pair_share is not None and balance != "pairs":
            raise UserError("pair_share belongs to balance = 'pairs'")
        self.groups = None if balance is None else BalancedGroups(balance, spec.num_classes, pair_share)
        if strength is not None and micro_batch is not None:
            raise UserError("strength needs the gradient at all features of a batch: beside micro_batch set alpha")
        self.micro_batch = micro_batch
        self.has_batch_norm = any(isinstance(part, _BatchNorm) for part in net.modules())
        self.balancing = None if strength is None else GradientBalance(strength)
        self.bias_output = bias_output
        self.terms: list[float] = []  # FLAC's loss in the epochs since training was started or went on
        self.alpha = alpha
        self.supcon = task == "supcon"
        self.num_views = 2 if self.supcon else 1
        self.ce_weight = (CE_BESIDE_SUPCON if self.supcon else 1.0) if ce_weight is None else ce_weight
        self.flac = FLACLoss(
            exponent=exponent,
            kernel=kernel,
            divergence=divergence,
            pairs=pairs,
            reduction=reduction,
            targets=targets or "dissimilarity",
            balanced_rows=bool(balanced_rows),
            combine=combine or "sum",
        )

    def prepare(self, training_set: Batch) -> None:
        if self.groups is not None:
            self.groups.start(training_set)

    def sample_weights(self) -> Tensor | None:
        return None if self.groups is None else self.groups.weights

    def paired_sampling(self) -> PairedSampling | None:
        return None if self.groups is None else self.groups.paired

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        views = len(batch.views)
        output = in_parts(self.net, torch.cat(batch.views), self.micro_batch)  # (views · B, …)
        y, logits = batch.y.repeat(views), output.logits
        if self.groups is not None:
            logits = self.groups.adjusted(logits, joint_logits(batch.bias_outputs).repeat(views, 1))
        ce = F.cross_entropy(logits, y)
        # Pairs are formed over the batch of all processes; each computes those of its own samples with all others.
        features, all_y = gather(output.features), gather(y)
        matched = (matched_output(*output, self.bias_output) for output in batch.bias_outputs)
        everywhere = [gather(one.repeat(views, 1)) for one in matched]
        flac = self.flac.of_share(everywhere, features, all_y, own_share(len(y)))
        terms = {"ce": ce, "flac": flac}
        task = self.ce_weight * ce
        if self.supcon:
            terms["supcon"] = supcon_loss(features, all_y)
            task = task + terms["supcon"]
        if self.balancing is None:
            loss = task + self.alpha * flac
        else:
            terms["alpha"] = self.balancing(task, flac, output.features)
            loss = task + terms["alpha"] * flac
        minimise(loss)
        return {"loss": loss.detach(), **{name: term.detach() for name, term in terms.items()}, **self.flac.stats}

    def advice(self, means: Mapping[str, float]) -> str | None:
        """A FLAC that silently does nothing is its worst failure."""
        if min(_of_each("spread", means)) < VISIBLE_SPREAD:
            return (
                "the bias model's features are nearly the same for all images, so it cannot tell attributes apart: "
                "train it longer, or choose another (set bias_model.kind)"
            )
        if min(_of_each("pairs", means)) == 0:
            return (
                "no batch of this epoch had a pair that carries the bias, so FLAC did nothing: class and attribute "
                "always go together in a batch (raise batch_size), or the bias model sees the class instead of the "
                "attribute (set bias_model.kind)"
            )
        self.terms.append(means["flac"])
        stuck = len(self.terms) >= EPOCHS_TO_FALL and min(self.terms) > VISIBLE_FALL * self.terms[0]
        if stuck and (far := max(_of_each("out_of_reach", means))) > MANY_OUT_OF_REACH:
            return (
                f"FLAC's loss does not fall, and {100 * far:.0f} % of its pairs have a target that "
                "no features can reach: set targets = 'reachable', and alpha anew"
            )
        if self.micro_batch is not None and self.has_batch_norm:
            return (
                f"BatchNorm sees {self.micro_batch} images at a time, and the fewer they are the worse the model gets: "
                "raise micro_batch as far as memory goes, or try batch_size = 32 without it"
            )
        return None


def _of_each(name: str, means: Mapping[str, float]) -> list[float]:
    """A number of the loss, of every attribute."""
    return [value for key, value in means.items() if key.rstrip("_0123456789") == name]


@final
class FLAC(PairMatching):
    """FLAC: fair representations without attribute labels of the training set.

    The bias model is trained to predict the attribute on other data D' that carries its labels.

    Paper: Sarridis et al., FLAC: Fairness-Aware Representation Learning by Suppressing Attribute-Class Associations,
    IEEE TPAMI 2024, Eq. 1-7.
    Deviations: the dialect of the loss that the published alphas belong to (square-root distance in the kernel, mean
    over S, unit-norm features), see `FLACLoss`; the literal text is `FLACLoss.paper()`. The paper gives no details of
    its contrastive variant (Con.): here temperature 0.07, two views, no projection head, SupCon + 0.01 CE + alpha FLAC,
    every term over both views. Con.* is the same with `augment = "rotate-jitter"`.
    """

    name: ClassVar[str] = "flac"


@final
class FLACB(PairMatching):
    """FLAC-B: FLAC whose bias model is a vanilla model of the same data, for when nobody labelled the attribute.

    Paper: Sarridis et al., FLAC: Fairness-Aware Representation Learning by Suppressing Attribute-Class Associations,
    IEEE TPAMI 2024, Section 3.2.
    Deviations: as FLAC.
    """

    name: ClassVar[str] = "flac-b"
