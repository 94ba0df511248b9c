"""Images of one's own: debias a model of them, discover their shortcut, audit a model on them, predict and embed
them."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

from fairflac.config.options import check_images, check_options, lookup, registered
from fairflac.config.settings import arrange
from fairflac.errors import UserError
from fairflac.runs.directory import Run, Workspace
from fairflac.system.files import check_writable
from fairflac.system.progress import meter, parse_duration, stages

if TYPE_CHECKING:
    from fairflac.auditing.fairness import FairnessAudit
    from fairflac.auditing.pipeline import Audit
    from fairflac.auditing.several import SideBySide
    from fairflac.data.base import Split
    from fairflac.debiasing.pipeline import DebiasResult
    from fairflac.discovering.pipeline import Discovery
    from fairflac.inference.embed import Embedding
    from fairflac.inference.model import Classifier
    from fairflac.inference.predict import Answer

    Model: TypeAlias = Run | Classifier | Path | str

    class AuditOptions(TypedDict, total=False):
        names: Sequence[str]
        split: Split | None
        output: Path | str | None
        net: str | None
        size: int | None
        classes: Sequence[str] | None
        attributes: Sequence[str]
        path_column: str | None
        label_column: str | None
        seed: int
        workspace: Workspace | None
        allow_outside: bool
        strict: bool
        silent: bool
        settings: Mapping[str, Any] | None


def debias(
    path: Path | str,
    *,
    output: Path | str | None = None,
    budget: str | float | None = None,
    bias_model: str = "discover",
    attribute: str | None = None,
    attribute_from: Path | str | None = None,
    seed: int = 0,
    seeds: int = 1,
    workspace: Workspace | None = None,
    path_column: str | None = None,
    label_column: str | None = None,
    allow_outside: bool = False,
    strict: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> "DebiasResult":
    """Find the shortcut, train a vanilla model and others against it, keep the best, and say what speaks for it.

    No attribute labels are needed. Which model is kept is decided on validation images by the groups that were found;
    where nothing speaks for a shortcut, the vanilla model is kept and that is said. Stopped, the same call goes on
    where it was.

    Args:
        path: a folder with a subfolder for each class, a CSV or Parquet file, a folder of Parquet files, or what
            `save_to_disk` of `datasets` left.
        output: the folder for all of it; `NAME-debiased` here if not given.
        budget: time for all of it, such as `10m` or `2h`, or in seconds.
        bias_model: `discover` finds groups in frozen features, without labels; `early`, `gce`, `small` or `vanilla` is
            trained on the same images; or `fairface:gender`, `race` or `age`, a run directory, a weight file.
        attribute: train against this attribute, a column of the CSV file; its gaps are filled by guesses.
        attribute_from: a table with that column, or a folder with a subfolder for each value; or the `groups.csv` of
            `discover`, for which no attribute has to be named.
        seed: of data, weights and order.
        seeds: how many are trained, from `seed` on, all on the same splits: the kind of model that most of them would
            keep is kept, and of its models the one in the middle.
        workspace: where datasets and the cache are; runs go into `output`.
        path_column: the column of paths or images, where it is not called `path`.
        label_column: the column of classes, where it is not called `label`, or there are several.
        allow_outside: paths in a CSV file may lead out of its folder.
        strict: an image that cannot be read is an error.
        settings: of the network, the method or training, as for `train`: `{"epochs": 12}`.

    Returns:
        The choice with its reasons, all runs, and the files that were left: model, report and card.

    Example:
        >>> outcome = fairflac.debias("photos", budget="10m")  # doctest: +SKIP
        >>> outcome.choice.kept, outcome.model  # doctest: +SKIP
        ('flac', PosixPath('photos-debiased/model.safetensors'))
    """
    started = time.monotonic()
    path = Path(path)
    if not path.exists():
        raise UserError(f"there is no '{path}': give a folder of images, or a CSV file")
    if seeds < 1:
        raise UserError(f"seeds = {seeds} trains nothing: give 1 or more")
    seconds = parse_duration(budget) if isinstance(budget, str) else budget
    changes = dict(settings or {})
    arrange("folder" if path.is_dir() else "csv", "flac-b", changes)

    from fairflac.data.own.sheet import ColumnChoice
    from fairflac.debiasing.budget import TimeBudget
    from fairflac.debiasing.pipeline import debias as debias_request
    from fairflac.debiasing.request import Request

    request = Request(
        path=path,
        output=Path(output or f"{path.resolve().stem}-debiased"),
        bias_model=bias_model,
        seed=seed,
        seeds=seeds,
        budget=seconds,
        attribute=attribute,
        attribute_from=None if attribute_from is None else Path(attribute_from),
        changes=changes,
        allow_outside=allow_outside,
        strict=strict,
        choice=ColumnChoice(path_column, label_column),
    )
    workspace = workspace or Workspace()
    with stages():
        return debias_request(request, workspace.data, TimeBudget(seconds, started), logger=workspace.logger)


def discover(
    path: Path | str,
    *,
    witness: str = "auto",
    features: "Run | Classifier | Path | str | None" = None,
    output: Path | str | None = None,
    net: str | None = None,
    size: int | None = None,
    seed: int = 0,
    workspace: Workspace | None = None,
    path_column: str | None = None,
    label_column: str | None = None,
    allow_outside: bool = False,
    strict: bool = False,
    silent: bool = False,
) -> "Discovery":
    """Find the shortcut that the classes of images offer, without labels of it, in seconds.

    Witnesses guess an attribute value for every image from frozen features; no image is guessed by a model that was
    trained on it. Which of them is believed, or that none is, is decided without labels. `groups.csv` has the guesses,
    a page shows the images; images of the test split are not touched.

    Args:
        path: a folder with a subfolder for each class, a CSV or Parquet file, a folder of Parquet files, or what
            `save_to_disk` of `datasets` left.
        witness: `linear`, `clusters` or `twins`, which look at features; `auto` asks these and believes the best;
            `early`, `gce`, `small` or `vanilla`, bias models that are trained on the images, which takes minutes.
        features: a `.npy` file with a row for each image in the order of the listing, or a run, an opened model or
            whatever `open_model` opens; without it the ImageNet ResNet-18, if its weights are there, and pixels.
        output: the folder for `groups.csv` and the page; `NAME-groups` here if not given.
        net: the network of a weight file, for example `resnet18`.
        size: pixels of a side, where the model does not say.
        seed: of the splits and of the halves that judge each other.
        workspace: where the ImageNet weights and the cache are.
        path_column: the column of paths or images, where it is not called `path`.
        label_column: the column of classes, where it is not called `label`, or there are several.
        allow_outside: paths in a CSV file may lead out of its folder.
        strict: an image that cannot be read is an error.
        silent: show no progress.

    Returns:
        The shortcuts, each with its guesses and what speaks for it, and the files that were left.

    Example:
        >>> found = fairflac.discover("photos")  # doctest: +SKIP
        >>> [(one.witness, one.belief.score) for one in found.shortcuts], found.groups  # doctest: +SKIP
        ([('linear', 0.39)], PosixPath('photos-groups/groups.csv'))
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"there is no '{path}': give a folder of images, or a CSV file")
    table = isinstance(features, Path | str) and str(features).endswith(".npy")

    from fairflac.data.own.sheet import ColumnChoice
    from fairflac.discovering.page import write
    from fairflac.discovering.pipeline import DiscoverRequest
    from fairflac.discovering.pipeline import discover as discover_request

    request = DiscoverRequest(
        path=path,
        output=Path(output or f"{path.resolve().stem}-groups"),
        witness=witness,
        features=Path(str(features)) if table else None if features is None else _opened(features, net, size, None),
        seed=seed,
        allow_outside=allow_outside,
        strict=strict,
        silent=silent,
        choice=ColumnChoice(path_column, label_column),
    )
    found = discover_request(request, (workspace or Workspace()).data)
    write(found)
    return found


@overload
def audit(model: "Model", data: Path | str, **options: "Unpack[AuditOptions]") -> "Audit": ...


@overload
def audit(
    model: "list[Any] | tuple[Any, ...]", data: Path | str, **options: "Unpack[AuditOptions]"
) -> "SideBySide": ...


def audit(
    model: "Model | list[Any] | tuple[Any, ...]",
    data: Path | str,
    *,
    names: Sequence[str] = (),
    split: "Split | None" = None,
    output: Path | str | None = None,
    net: str | None = None,
    size: int | None = None,
    classes: Sequence[str] | None = None,
    attributes: Sequence[str] = (),
    path_column: str | None = None,
    label_column: str | None = None,
    seed: int = 0,
    workspace: Workspace | None = None,
    allow_outside: bool = False,
    strict: bool = False,
    silent: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> "Audit | SideBySide":
    """Say whether a model leans on a shortcut, on which, and how sure that is; no attribute labels are needed.

    Discovery finds groups that the classes go with, from frozen features, as `discover` does: does the model follow
    them? Simple cues (colour, brightness, fine detail, border, corners) are exchanged between images: does it follow
    these? A small bias model, trained on the spot, shows where what is easy goes against the class. Columns of a CSV
    file are attributes, and the groups they make are measured too. Several models are asked about the same images, and
    compared image by image.

    Args:
        model: a run, an opened model, or whatever `open_model` opens; or a list, to be compared with the first.
        data: a folder with a subfolder for each class, a CSV file, or the name of a dataset.
        names: what several models are called on the page, such as before and after.
        split: `train`, `validation` or `test`; without it `test` where there are parts, else all images.
        output: write a page about the audit.
        net: the network of a weight file, for example `resnet18`.
        size: pixels of a side, where the model does not say.
        classes: their names in the order of the model's outputs.
        attributes: columns of a CSV file; all others if not given.
        path_column: the column of paths or images, where it is not called `path`.
        label_column: the column of classes, where it is not called `label`, or there are several.
        seed: of the bias model, and of the halves that judge each other in discovery.
        workspace: where datasets, the ImageNet weights and the cache are.
        allow_outside: paths in a CSV file may lead out of its folder.
        strict: an image that cannot be read is an error.
        silent: show no progress.
        settings: of a dataset, such as `{"q": 0.99}`.

    Returns:
        Everything that was measured; of several models `audits` by name and `differences` to the first.

    Example:
        >>> found = fairflac.audit("model.onnx", "photos", output="audit.html")  # doctest: +SKIP
        >>> found.accuracy.value, found.gaps, found.found.shortcuts  # doctest: +SKIP
        >>> both = fairflac.audit(["old.onnx", "new.onnx"], "photos", names=["before", "after"])  # doctest: +SKIP
        >>> both.differences("after")[0].difference.p  # doctest: +SKIP
    """
    images, changes = str(data), dict(settings or {})
    page = _page(output)
    check_images(images)
    if images in registered("dataset"):
        check_options("dataset", images, changes)
    given = list(model) if isinstance(model, list | tuple) else [model]
    if not given or (names and len(names) != len(given)):
        raise UserError(f"{len(given)} models and {len(names)} names were given: give each model a name")
    opened = [_opened(one, net, size, classes) for one in given]

    from fairflac.auditing.images import ImageSelection, select_images
    from fairflac.auditing.page import write
    from fairflac.auditing.pipeline import audit as audit_model
    from fairflac.auditing.several import audit_several
    from fairflac.data.own.sheet import ColumnChoice

    selection = ImageSelection(
        name=images,
        root=(workspace or Workspace()).data,
        split=split,
        changes=changes,
        columns=tuple(attributes) or None,
        choice=ColumnChoice(path_column, label_column),
        allow_outside=allow_outside,
        strict=strict,
    )
    found: Audit | SideBySide
    if isinstance(model, list | tuple):
        found = audit_several(opened, selection, names=names, seed=seed, silent=silent)
    else:
        found = audit_model(opened[0], select_images(opened[0], selection), selection.root, seed=seed, silent=silent)
    if page is not None:
        write(found, page)
    return found


def audit_predictions(
    predictions: Any,
    *,
    label: str | None = None,
    prediction: str | Sequence[str] = (),
    score_prefix: str | None = None,
    attributes: Sequence[str] = (),
    positive: str | None = None,
    output: Path | str | None = None,
) -> "FairnessAudit":
    """Say whether predictions that were made elsewhere treat groups alike; neither a model nor an image is needed.

    For each attribute: how often predictions are right, by value and by group of class and value, p % rule, equalised
    odds and the other gaps, with 95 % intervals, and a permutation test of whether being right depends on it at all.

    Args:
        predictions: a table (CSV, JSON lines, Parquet), or columns by name: a dict or a pandas DataFrame. One column
            has the true class, one the predicted class, or one for each class its score; others are attributes.
        label: the column of the true class; `label`, `y_true`, `target` and the like are found.
        prediction: the column of the predicted class, or several to compare models; `prediction`, `y_pred` and the
            like are found.
        score_prefix: what stands before a class in the name of its column of scores; found where all classes have one.
        attributes: columns; all that make groups if not given.
        positive: of two classes the one that selection, false alarms and misses are about; the second if not given.
        output: write a page about it.

    Returns:
        Everything that was measured: `dependence` and `summaries`, by model and attribute.

    Example:
        >>> found = fairflac.audit_predictions("predictions.csv", output="fairness.html")  # doctest: +SKIP
        >>> found.dependence["prediction"]["sex"].p  # doctest: +SKIP
        >>> print(found.summaries["prediction"]["sex"])  # doctest: +SKIP
    """
    page = _page(output)

    from fairflac.auditing.fairness import audit_fairness
    from fairflac.auditing.fairness_page import write
    from fairflac.auditing.prediction_file import PredictionColumns, read_predictions

    named = (prediction,) if isinstance(prediction, str) else tuple(prediction)
    columns = PredictionColumns(label, named, score_prefix, tuple(attributes), positive)
    found = audit_fairness(read_predictions(predictions, columns))
    if page is not None:
        write(found, page)
    return found


def _page(output: Path | str | None) -> Path | None:
    """Where a page goes; whether it can, is asked before the work."""
    if output is None:
        return None
    page = Path(output)
    if page.is_dir():
        raise UserError(f"'{page}' is a folder: name the page too, for example '{page / 'audit.html'}'")
    check_writable(page)
    return page


def predict(
    model: "Model",
    images: Path | str | Sequence[Path | str],
    *,
    top: int = 1,
    net: str | None = None,
    size: int | None = None,
    classes: Sequence[str] | None = None,
    path_column: str | None = None,
    allow_outside: bool = False,
    strict: bool = False,
    silent: bool = False,
) -> "list[Answer]":
    """Name the class of each image, with its probability, in sorted order.

    Decoding, size and normalisation are those that the model was trained with.

    Args:
        model: a run, an opened model, or whatever `open_model` opens.
        images: image files, folders with images at any depth, or tables (CSV, Parquet) that list or hold them.
        top: how many classes to name for each image.
        net: the network of a weight file, for example `resnet18`.
        size: pixels of a side, where the model does not say.
        classes: their names in the order of the model's outputs.
        path_column: of a table: the column of paths or images, where it is not called `path`.
        allow_outside: paths in a table may lead out of its folder.
        strict: an image that cannot be read is an error.
        silent: show no progress.

    Returns:
        One answer for each file; that of a file which cannot be read says why.

    Example:
        >>> for answer in fairflac.predict("photos-debiased", "new"):  # doctest: +SKIP
        ...     print(answer.path, answer.guesses[0].name)
    """
    opened = _opened(model, net, size, classes)

    from fairflac.data.own.sheet import ColumnChoice
    from fairflac.inference.predict import answers, find_images, readable, unreadable_line

    given = [images] if isinstance(images, Path | str) else images
    paths = find_images([Path(path) for path in given], ColumnChoice(path_column), allow_outside=allow_outside)
    found = []
    with meter("predicting", len(paths), silent=silent) as bar:
        for answer in answers(opened, paths, top):
            found.append(answer)
            bar.advance()
    broken = unreadable_line(found)
    if broken and (strict or not readable(found)):
        raise UserError(f"{broken}: mend or remove them{', or leave out strict' if strict else ''}")
    return found


def embed(
    model: "Model",
    images: Path | str | Sequence[Path | str],
    *,
    output: Path | str | None = None,
    net: str | None = None,
    size: int | None = None,
    strict: bool = False,
    silent: bool = False,
) -> "Embedding":
    """The features of images, the penultimate layer of a model, in sorted order of the files.

    Args:
        model: a run, an opened model, or whatever `open_model` opens that shows its features.
        images: image files, or folders with images at any depth.
        output: a `.npy` file, beside which `.index.csv` says which row is which image, or a `.parquet` file with both.
        net: the network of a weight file, for example `resnet18`.
        size: pixels of a side, where the model does not say.
        strict: an image that cannot be read is an error.
        silent: show no progress.

    Returns:
        The paths of all images that could be read, a row of features for each, and the files that were written.

    Example:
        >>> found = fairflac.embed("photos-debiased", "new", output="features.npy")  # doctest: +SKIP
        >>> found.features.shape, found.paths[0]  # doctest: +SKIP
        ((120, 512), 'new/1.jpg')
    """
    opened, path = _opened(model, net, size, None), None if output is None else Path(output)

    from fairflac.inference.embed import Embedding, check_embedding, embedded
    from fairflac.inference.predict import find_images

    check_embedding(opened, path)
    given = [images] if isinstance(images, Path | str) else images
    files = find_images([Path(one) for one in given])
    parts = []
    with meter("features", len(files), silent=silent) as bar:
        for part in embedded(opened, files):
            parts.append(part)
            bar.advance(len(part.paths) + len(part.unreadable))
    found = Embedding.of(parts)
    if found.unreadable and (strict or not found.paths):
        first, reason = next(iter(found.unreadable.items()))
        many = f"{len(found.unreadable)} of {len(files)} files cannot be read as images"
        raise UserError(f"{many}, the first is '{first}' ({reason}): mend or remove them")
    return found if path is None else found.written(path)


def _opened(model: "Model", net: str | None, size: int | None, classes: Sequence[str] | None) -> "Classifier":
    if net is not None:
        lookup("net", net.partition(" ")[0])

    from fairflac.inference.model import Classifier
    from fairflac.inference.open import open_model

    if isinstance(model, Classifier):
        return model
    return open_model(model.path if isinstance(model, Run) else model, net=net, size=size, classes=classes)
