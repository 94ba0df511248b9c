"""fairflac: image classifiers that do not lean on a shortcut, trained without labels of that shortcut."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairflac.estimator import FLACClassifier

__version__ = "0.1.0"
__all__ = ["FLACClassifier", "__version__"]


def __getattr__(name: str) -> Any:
    """The estimator brings torch and scikit-learn with it, so it is imported when it is asked for."""
    if name == "FLACClassifier":
        from fairflac.estimator import FLACClassifier

        return FLACClassifier
    raise AttributeError(f"module 'fairflac' has no attribute '{name}'")
