"""FairKL and FairKL-lu: similarities are distributed alike whether two samples share the attribute or not."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.losses.contrastive import bias_dissimilarity, fairkl_loss, sup_info_nce
from fairflac.losses.flac import conflicting_pairs
from fairflac.losses.gather import gather
from fairflac.methods.base import Method
from fairflac.types import Batch, Minimise, Network, TaskSpec


class SimilarityMatching(Method, ABC):
    """L = alpha * L_task + lam * R, with R = `fairkl_loss` and L_task = CE, or epsilon-SupInfoNCE (`sup_info_nce`).

    With the contrastive task L trains the encoder, and cross-entropy the classifier alone. The classifier sees features
    of unit length. The two final classes below differ in how they know which pairs share the attribute.
    """

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        task: Literal["ce", "supcon"] = "supcon",  # the better one in the paper
        alpha: Annotated[float, Field(ge=0)] = 1.0,  # ours
        lam: Annotated[float, Field(ge=0)] = 10.0,  # ours
        kld: Annotated[float, Field(ge=0)] = 1.0,  # both scripts of the authors
        epsilon: Annotated[float, Field(ge=0)] = 0.0,  # the authors' configuration of Biased-MNIST
        tau: Annotated[float, Field(gt=0)] = 0.1,  # the authors' code
    ) -> None:
        super().__init__(net, spec)
        self.contrastive = task == "supcon"
        self.alpha, self.lam, self.kld, self.epsilon, self.tau = alpha, lam, kld, epsilon, tau

    @abstractmethod
    def shared(self, batch: Batch, y: Tensor) -> tuple[Tensor, Tensor | None]:
        """Of the batch of all processes, with classes y: (N, N) how far pairs share the attribute, and which count."""

    def step(self, batch: Batch, minimise: Minimise) -> dict[str, Tensor]:
        own = self.net(batch.x).features
        ce = F.cross_entropy(self.classify(own), batch.y)
        features, y = gather(own), gather(batch.y)
        aligned, counted = self.shared(batch, y)
        fairkl = fairkl_loss(features, y, aligned, kld=self.kld, pairs=counted)
        if self.contrastive:
            task = sup_info_nce(features, y, temperature=self.tau, epsilon=self.epsilon)
            loss = self.alpha * task + self.lam * fairkl
            minimise(loss, "encoder")
            minimise(ce, "classifier")
        else:
            task = ce
            loss = self.alpha * task + self.lam * fairkl
            minimise(loss)
        logs = {"loss": loss, "task": task, "ce": ce, "fairkl": fairkl}
        return {name: value.detach() for name, value in logs.items()}

    def classify(self, features: Tensor) -> Tensor:
        """(B, D) → (B, C) logits of features of unit length."""
        logits: Tensor = self.net.fc(F.normalize(features, dim=1))
        return logits

    def predict(self, x: Tensor) -> Tensor:
        return self.classify(self.net(x).features)

    def parameter_groups(self) -> Mapping[str, Iterable[nn.Parameter]]:
        classifier = list(self.net.fc.parameters())
        inside = {id(p) for p in classifier}
        return {"encoder": [p for p in self.net.parameters() if id(p) not in inside], "classifier": classifier}


@final
class FairKL(SimilarityMatching):
    """FairKL: samples of one class are as near, and of two classes as far, with one attribute value as with two.

    L = alpha * L_task + lam * R, where R matches the mean similarity, and its deviation with the weight `kld`, of pairs
    that share the attribute and of pairs that do not, see `fairkl_loss`.

    Paper: Barbano et al., Unbiased Supervised Contrastive Learning, ICLR 2023, epsilon-SupInfoNCE and FairKL.
    Deviations: R is that of the authors' code, where the text has the divergence of two normal distributions. alpha is
    applied once; their code applies it twice. The contrastive loss has no factor tau / 0.07 in front. Adam trains all;
    theirs trains the encoder by SGD with momentum 0.9, and the classifier by Adam without weight decay. alpha and lam
    are not published, so ours.
    """

    name: ClassVar[str] = "fairkl"
    uses_bias_labels: ClassVar[bool] = True

    def shared(self, batch: Batch, y: Tensor) -> tuple[Tensor, Tensor | None]:
        bias = gather(batch.bias)
        return bias[:, None] == bias, None


@final
class FairKLLU(SimilarityMatching):
    """FairKL-lu: FairKL with similarities of a bias model's features in place of attribute labels.

    Pairs share the attribute as far as w_ij = max(cos(b_i, b_j), 0), and differ in it by 1 - w_ij. With `pairs` =
    "conflicting" pairs outside of FLAC's S (Eq. 1 of its paper) do not count in R.

    Paper: Barbano et al., Unbiased Supervised Contrastive Learning, ICLR 2023; `pairs`: Sarridis et al., FLAC, IEEE
    TPAMI 2024, the ablation of Eq. 1.
    Deviations: as FairKL. The label-unaware form has no public code or formula; the weights are ours. How S enters is
    not published either: here in R only, and the task sees all pairs.
    """

    name: ClassVar[str] = "fairkl-lu"
    needs_bias_model: ClassVar[bool] = True

    def __init__(
        self,
        net: Network,
        spec: TaskSpec,
        *,
        task: Literal["ce", "supcon"] = "supcon",  # as FairKL, and all that follows
        alpha: Annotated[float, Field(ge=0)] = 1.0,
        lam: Annotated[float, Field(ge=0)] = 10.0,
        kld: Annotated[float, Field(ge=0)] = 1.0,
        epsilon: Annotated[float, Field(ge=0)] = 0.0,
        tau: Annotated[float, Field(gt=0)] = 0.1,
        pairs: Literal["all", "conflicting"] = "all",
    ) -> None:
        super().__init__(net, spec, task=task, alpha=alpha, lam=lam, kld=kld, epsilon=epsilon, tau=tau)
        self.pairs = pairs

    def shared(self, batch: Batch, y: Tensor) -> tuple[Tensor, Tensor | None]:
        bias = gather(batch.bias_features)
        aligned = (1 - bias_dissimilarity(bias)).clamp_min(0)
        return aligned, conflicting_pairs(bias, y) if self.pairs == "conflicting" else None
