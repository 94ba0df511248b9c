"""fairflac: image classifiers that do not lean on a shortcut, trained without labels of that shortcut."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairflac.api.experiments import reproduce, tune
    from fairflac.api.images import audit, audit_predictions, debias, discover, embed, predict
    from fairflac.api.runs import evaluate, export, report, train
    from fairflac.errors import UserError
    from fairflac.estimator import FLACClassifier, guessed_groups_scorer
    from fairflac.inference.open import open_model
    from fairflac.losses import (
        DenseFLACLoss,
        FLACLoss,
        GradientBalance,
        GroupWeights,
        RelativeDifficulty,
        bias_balanced_loss,
        bias_dissimilarity,
        class_dissimilarity,
        class_given_bias,
        disentangling_loss,
        entangling_loss,
        fairkl_loss,
        flac_loss,
        gce_loss,
        hsic,
        sup_info_nce,
        supcon_loss,
    )
    from fairflac.metrics import score
    from fairflac.runs.directory import Run, Workspace

__version__ = "0.1.0"
__all__ = [
    "DenseFLACLoss",
    "FLACClassifier",
    "FLACLoss",
    "GradientBalance",
    "GroupWeights",
    "RelativeDifficulty",
    "Run",
    "UserError",
    "Workspace",
    "__version__",
    "audit",
    "audit_predictions",
    "bias_balanced_loss",
    "bias_dissimilarity",
    "class_dissimilarity",
    "class_given_bias",
    "debias",
    "discover",
    "disentangling_loss",
    "embed",
    "entangling_loss",
    "evaluate",
    "export",
    "fairkl_loss",
    "flac_loss",
    "gce_loss",
    "guessed_groups_scorer",
    "hsic",
    "open_model",
    "predict",
    "report",
    "reproduce",
    "score",
    "sup_info_nce",
    "supcon_loss",
    "train",
    "tune",
]

# Where each name lives that is not a loss; it is imported when it is asked for, because torch takes seconds.
_MODULES = {
    "FLACClassifier": "estimator",
    "Run": "runs.directory",
    "UserError": "errors",
    "Workspace": "runs.directory",
    "audit": "api.images",
    "audit_predictions": "api.images",
    "debias": "api.images",
    "discover": "api.images",
    "embed": "api.images",
    "evaluate": "api.runs",
    "export": "api.runs",
    "guessed_groups_scorer": "estimator",
    "open_model": "inference.open",
    "predict": "api.images",
    "report": "api.runs",
    "reproduce": "api.experiments",
    "score": "metrics",
    "train": "api.runs",
    "tune": "api.experiments",
}

if not TYPE_CHECKING:  # a type checker would take it for any name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'fairflac' has no attribute '{name}'")
        return getattr(import_module(f"fairflac.{_MODULES.get(name, 'losses')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
