"""FLACClassifier: fit, predict and score in the manner of scikit-learn."""

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data
from torch import nn

from fairflac.config.run_config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.batches import inputs_of
from fairflac.discovery.bias_model import BiasSource, judged
from fairflac.discovery.embeddings import Embeddings
from fairflac.errors import Stopped, unknown
from fairflac.estimator.inputs import (
    ATTRIBUTE,
    InputKind,
    WrongInput,
    check_method,
    decoded,
    files_of,
    labelled,
    labelled_files,
    make_config,
    net_settings,
    opened,
    resized,
    unlabelled,
    with_given_features,
    with_user_module,
)
from fairflac.methods import METHODS, Frozen, Method
from fairflac.nets import NETS, adapt
from fairflac.runs.directory import Run
from fairflac.system.files import data_root
from fairflac.training.build import build_method, load_split
from fairflac.training.engine import make_fabric
from fairflac.training.evaluate import infer
from fairflac.training.pipeline import fit
from fairflac.types import Output

Samples = ArrayLike | str | Path | list[Path]


class FLACClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that does not lean on a shortcut, trained without labels of that shortcut.

    X is an array of uint8 images (N, H, W, 3) or (N, H, W), an array of embeddings (N, D), the path of a .npy file with
    either, or the path of a folder or CSV file of images, which has the labels with it. What is None stands in the
    recipe for own images (`fairflac list recipes`).

    After fit: `classes_`, `history_` (one entry per epoch), `bias_quality_` (how good the bias model is; empty without
    one), `method_` (the trained `Method`; `method_.net` is the network), `n_features_in_` for embeddings.

    Args:
        method: its name, as in `fairflac list methods`.
        alpha: the weight of FLAC's loss.
        epochs: how often every image is seen.
        batch_size: images in a step.
        lr: the learning rate.
        net: `auto`, a name as in `fairflac list nets`, `timm:NAME`, or an nn.Module.
        features: the layer of that module whose output are the features, if they are not the input of its last Linear.
        size: of images, in pixels of a side.
        augment: by its name, such as `crop-flip`.
        bias_model: its kind: `early`, `vanilla`, `gce` or `small`.
        settings: what else `fairflac.train` takes, such as `{"schedule": "cosine"}`.
        random_state: as in scikit-learn.
        verbose: show a progress bar.

    Example:
        >>> model = fairflac.FLACClassifier(epochs=10).fit(images, y)  # doctest: +SKIP
        >>> model.predict(new_images)  # doctest: +SKIP
    """

    def __init__(
        self,
        method: str = "flac-b",
        *,
        alpha: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        net: str | nn.Module = "auto",
        features: str | None = None,
        size: int | None = None,
        augment: str | None = None,
        bias_model: str | None = None,
        settings: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.net = net
        self.features = features
        self.size = size
        self.augment = augment
        self.bias_model = bias_model
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Samples,  # noqa: N803
        y: ArrayLike | None = None,
        *,
        attribute: ArrayLike | str | None = None,
        bias_features: ArrayLike | None = None,
    ) -> Self:
        """Train the bias model and then the classifier.

        Args:
            X: images, embeddings or files.
            y: classes of the rows; files have their own.
            attribute: labels of the shortcut for the same rows, or a column of the CSV file, with which the bias model
                is taught what to look for.
            bias_features: (N, D_b), what another model sees of the shortcut, instead of a bias model.

        Returns:
            This classifier, fitted.
        """
        kind, x = opened(X)
        if kind == "files":
            data, config = self._files(x, y, attribute, bias_features)
            self.classes_ = np.array(data.task.classes)
        else:
            x, y = self._checked(kind, x, y)
            data, self.classes_ = labelled(x, y, attribute)
            name = None if attribute is None else ATTRIBUTE
            config = self._config(kind, Path(), x.shape[1:], name, bias_features)
        own = UserModule(self.net, self.features) if isinstance(self.net, nn.Module) else None
        config = with_user_module(config, own.module) if own else config
        fitted = fit_stages(config, data, own, _rows(bias_features, len(data)), silent=not self.verbose)
        self.method_, self.history_, self.bias_quality_ = fitted.method, fitted.history, fitted.quality
        self._config_, self._kind_, self._stored_ = config, kind, data.images.shape[1:3]
        self._warn()
        return self

    def predict_proba(self, X: Samples) -> np.ndarray:  # noqa: N803
        """(N, C), columns in the order of `classes_`. Rows: as in X, or the image files of a folder, sorted."""
        check_is_fitted(self)
        kind, x = opened(X)
        if kind == "files":
            x, kind = decoded(files_of(x), self._stored_), "images"
        if (kind == "vectors") != (self._kind_ == "vectors"):
            raise WrongInput(f"fitted on {self._kind_}, asked to predict {kind}: give the same kind of X")
        if kind == "vectors":
            x = validate_data(self, x, reset=False, dtype=np.float32)
        data = unlabelled(x if kind == "vectors" else resized(x, self._stored_), self.method_.spec)
        fabric = make_fabric()
        logits, _ = infer(self.method_.to(fabric.device), data, fabric, torch.arange(len(data)))
        self.method_.cpu()  # where it can be pickled for any machine
        shares: np.ndarray = logits.double().softmax(1).cpu().numpy()
        return shares

    def predict(self, X: Samples) -> np.ndarray:  # noqa: N803
        """(N,) classes, rows as `predict_proba` has them."""
        chosen = self.predict_proba(X).argmax(1)
        predicted: np.ndarray = self.classes_[chosen]
        return predicted

    def score(self, X: Samples, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """Share of right answers. Of a folder or CSV file with its own labels: see `labelled_files`."""
        check_is_fitted(self)
        if y is None:
            kind, x = opened(X)
            if not isinstance(x, Path):
                raise WrongInput(f"y is missing: {kind} have no labels of their own")
            X, y = labelled_files(x, self._config_ if self._kind_ == "files" else None, self._stored_)  # noqa: N806
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _files(self, x: Any, y: Any, attribute: Any, bias_features: Any) -> tuple[BiasedDataset, RunConfig]:
        """The training part of a folder or CSV file."""
        if not isinstance(x, Path):
            raise WrongInput("a list of files has no labels: give a folder with one subfolder a class, or a CSV file")
        if y is not None:
            raise WrongInput(f"'{x}' has its labels with it: leave out y")
        if not isinstance(attribute, str | None):
            raise WrongInput("attribute: name a column of the CSV file")
        config = self._config("files", x, None, attribute, bias_features)
        data = load_split(config, data_root(), "train")
        assert data is not None
        if attribute is not None and attribute not in data.bias:
            unknown("attribute", attribute, data.bias, f"of '{x}'")
        return data, config

    def _checked(self, kind: InputKind, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Arrays as scikit-learn checks them."""
        if y is None:
            raise WrongInput("requires y to be passed, but the target y is None")
        if kind == "vectors":
            x, y = validate_data(self, x, y, dtype=np.float32, ensure_min_samples=2)
        else:
            size = x.shape[1:3] if self.size is None else (self.size, self.size)
            x, y = check_X_y(resized(x, size), y, dtype=None, allow_nd=True, ensure_min_samples=2)
        check_classification_targets(y)
        return x, y

    def _config(
        self, kind: InputKind, path: Path, shape: tuple[int, ...] | None, attribute: str | None, bias_features: Any
    ) -> RunConfig:
        check_method(self.method, kind, taught=attribute is not None, given=bias_features is not None)
        teach = attribute is not None and METHODS[self.method].needs_bias_model
        given = {
            **net_settings(self.net, self.method, kind, shape),
            "path": str(path),
            "validation": 0.0,  # what is held out, the user holds out
            "alpha": self.alpha,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "size": self.size,
            # An array may be of digits or of scans, which mean something else when they are flipped.
            "augment": self.augment if kind == "files" else self.augment or "none",
            "bias_model.kind": self.bias_model or ("vanilla" if teach else None),
            "bias_model.target": attribute if teach else None,
        }
        if self.lr is not None:  # a small network has a rate of its own
            given["lr"] = self.lr
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        config = make_config(self.method, seed, kind, given, self.settings)
        return config if bias_features is None else with_given_features(config)

    def _warn(self) -> None:
        """A FLAC that silently does nothing is its worst failure."""
        last = self.history_[-1] if self.history_ else {}
        numbers = {name: value for name, value in last.items() if isinstance(value, float)}
        advice = self.method_.advice(numbers) if numbers else None
        if advice is not None:
            words = advice.replace("set bias_model.kind", "give bias_model")
            warnings.warn(f"{self.method}: {words}", ConvergenceWarning, stacklevel=3)


def _rows(bias_features: Any, count: int) -> np.ndarray | None:
    if bias_features is None:
        return None
    rows: np.ndarray = check_array(bias_features, dtype=np.float32)
    if len(rows) != count:
        raise WrongInput(f"bias_features has {len(rows)} rows and X {count}: give one row for each sample")
    return rows


@dataclass(frozen=True)
class FitResult:
    """What a fitted estimator keeps."""

    method: Method
    history: list[dict[str, Any]]  # one entry per epoch
    quality: dict[str, float]  # of the bias model


@dataclass(frozen=True)
class UserModule:
    """A user's module and the layer that its features come from."""

    module: nn.Module
    features: str | None


def fit_stages(
    config: RunConfig,
    data: BiasedDataset,
    own: UserModule | None,
    bias_features: np.ndarray | None,  # (N, D_b) instead of a bias model
    *,
    silent: bool,
) -> FitResult:
    """Leaves torch's generator as it was. Ctrl-C ends it, for there is nothing to go on from."""
    devices = range(torch.cuda.device_count())
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices):
        fabric = make_fabric()
        stages = _Stages(data, fabric, Path(folder), own, silent)
        try:
            source = stages.bias(config, bias_features) if METHODS[config.method].needs_bias_model else None
            method, history = stages.trained(config, data, source, config.method)
        except Stopped:
            raise KeyboardInterrupt from None
    return FitResult(method.cpu().eval(), history, source.quality if source else {})


@dataclass(frozen=True)
class _Stages:
    data: BiasedDataset
    fabric: Fabric
    folder: Path
    own: UserModule | None
    silent: bool

    @property
    def embed(self) -> Embeddings:
        return Embeddings(self.folder, self.fabric, self.silent)

    def trained(
        self, config: RunConfig, data: BiasedDataset, source: BiasSource | None, label: str
    ) -> tuple[Method, list[dict[str, Any]]]:
        assert config.seed is not None
        torch.manual_seed(config.seed)
        method = self._built(config, data)
        data = self.embed(method.net, data)
        run = Run(self.folder / label)
        state = fit(method, config, data, self.fabric, run, source, label=label, silent=self.silent)
        return method, state.history

    def bias(self, config: RunConfig, given: np.ndarray | None) -> BiasSource:
        """The bias model of a run: given as features, or trained first."""
        stage = config.stage_one()
        assert stage is not None
        network = None
        if given is None:
            model, _ = self.trained(stage, self.data.with_target(stage.target), None, "bias model")
            seen = self.embed(model.net, self.data)
            output = infer(model, seen, self.fabric, torch.arange(len(seen)))
            network = Frozen(model.net)
        else:
            unknown = torch.zeros(len(given), self.data.task.num_classes)  # logits of a model that we do not have
            output = Output(*(part.to(self.fabric.device) for part in (unknown, torch.from_numpy(given))))
        quality = judged(output, self.data, stage, config, trained=network is not None).numbers
        live = network is not None and config.train.bias_features == "live"
        return BiasSource(network, None if live else output, quality)

    def _built(self, config: RunConfig, data: BiasedDataset) -> Method:
        """With a network by name, or around the user's module, tried on the first rows."""
        if self.own is None or config.net in NETS:
            return build_method(config, data.task)
        method: Any = METHODS[config.method]
        (example,) = inputs_of(data, self.fabric.device)(torch.arange(min(2, len(data))))
        net = adapt(self.own.module, method.num_logits(data.task), self.own.features, example=example)
        built: Any = method(net, data.task, **config.method_options)
        ready: Method = built.to(memory_format=torch.channels_last)
        return ready
