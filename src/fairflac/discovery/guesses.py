"""Guesses of bias models of the classes, which stand in for an attribute that nobody has labelled.

A network that is small, stopped early or trained to lean on what is easy learns the shortcut and little else. No image
is guessed by a model that saw it in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from lightning_fabric import Fabric

from fairflac.config.recipes import bias_model_kind
from fairflac.config.run_config import RunConfig, resolve
from fairflac.data.base import BiasedDataset, hash_split
from fairflac.data.own.listing import MEAN, STD
from fairflac.data.pixels.resample import centre_crop
from fairflac.data.pixels.stored import Pixels
from fairflac.discovery.witnesses import Testimony, Witness, contents, halves
from fairflac.errors import Stopped
from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run
from fairflac.runs.gallery import shrink
from fairflac.training.build import build_method
from fairflac.training.engine import make_fabric
from fairflac.training.evaluate import predictions
from fairflac.training.pipeline import fit
from fairflac.types import TaskSpec

SHORT = "small"  # the one that an audit trains, for as few steps as `early`
FOLDS = 3
EPOCHS = 3
STEPS = 60  # at least: of a small set the epochs are more
HELD_OUT = 5  # one in so many training images shows whether the bias model learnt anything
SIDE = 64  # pixels at most: for more, a network of 23 x 23 pixels would see too little of the image


@dataclass(frozen=True)
class Guesses:
    """What the bias model named, and how it came about.

    Whether it learnt anything shows on images like those that it was trained on: where audited images were chosen so
    that no shortcut works, it guesses by chance, and rightly so.
    """

    guess: np.ndarray  # (N,) classes
    how: str  # it was trained, in words
    trial_y: np.ndarray  # (M,) classes of images like those that it was trained on, which it has not seen
    trial_guess: np.ndarray  # (M,)


def guesses(data: BiasedDataset, training: BiasedDataset | None, seed: int = 0, *, silent: bool = False) -> Guesses:
    """From a model of the training images; where there are none, from models of the other parts of the images."""
    fabric, audited = make_fabric(), _small(data)

    def trained(training: BiasedDataset, sets: Sequence[BiasedDataset], label: str) -> list[Predictions]:
        config = _config(SHORT, len(training), seed, short=True)
        return _answers(config, training, sets, fabric, label, "audit", silent)

    if training is not None:
        similar = _small(training)
        held_out = folds(similar.images, HELD_OUT, seed)[0]
        trial, rest = similar.take(held_out), similar.take(np.setdiff1d(np.arange(len(similar)), held_out))
        guess, trial_guess = (one.prediction for one in trained(rest, [audited, trial], "bias model"))
        return Guesses(guess, f"trained on {len(rest):,} of the training images", trial.y, trial_guess)
    guess = np.empty_like(data.y)
    for number, rows in enumerate(folds(audited.images, FOLDS, seed), start=1):
        others = np.setdiff1d(np.arange(len(data)), rows)
        label = f"bias model {number} of {FOLDS}"
        (answers,) = trained(audited.take(others), [audited.take(rows)], label)
        guess[rows] = answers.prediction
    return Guesses(guess, f"trained {FOLDS} times, each time without the images that it then guessed", data.y, guess)


def network_witness(kind: str, images: Pixels, *, silent: bool = False) -> Witness:
    """A bias model, of NETWORKS, as a witness of (N, H, W, 3) images: of two halves each is guessed by a network of
    the other. What it is given as features it does not look at; values are numbered as the classes."""
    fabric = make_fabric()

    @cache  # of a search that asks the same again
    def guessed(classes: bytes, seed: int) -> Testimony:
        data = _small(_unnamed(images, np.frombuffer(classes, np.int64)))
        half = halves(contents(images), data.y, np.random.default_rng(seed))
        value, confidence = np.empty(len(half), np.int64), np.empty(len(half))
        for number, part in enumerate((half, ~half), start=1):
            rest = data.take(np.flatnonzero(~part))
            config = _config(kind, len(rest), seed, short=kind == "early")
            label = f"{kind} bias model {number} of 2"
            (answers,) = _answers(config, rest, [data.take(np.flatnonzero(part))], fabric, label, "search", silent)
            value[part], confidence[part] = answers.prediction, answers.score
        return Testimony(value, confidence)

    return lambda _, y, seed: guessed(np.ascontiguousarray(y, np.int64).tobytes(), seed)


def _unnamed(images: Pixels, y: np.ndarray) -> BiasedDataset:
    """For networks that are asked once and not kept."""
    classes = tuple(str(label) for label in range(int(y.max()) + 1))
    task = TaskSpec(classes, {}, (images.shape[1], images.shape[2]), MEAN, STD)
    names = np.array([f"{row:09d}" for row in range(len(y))])
    return BiasedDataset(images, y, {}, names, "train", task)


def folds(images: Pixels, count: int, seed: int) -> list[np.ndarray]:
    """Rows of each part; copies of an image stay together."""
    names = [f"{row:09d}" for row in range(len(images))]
    digests = np.array([hash(image.tobytes()) for image in images])
    return [np.sort(rows) for rows in hash_split(names, [1 / count] * count, seed, digests)]


def _answers(
    config: RunConfig,
    training: BiasedDataset,
    sets: Sequence[BiasedDataset],
    fabric: Fabric,
    label: str,
    work: str,  # that this is a part of
    silent: bool,
) -> list[Predictions]:
    torch.manual_seed(config.seed)
    method = build_method(config, training.task)
    with TemporaryDirectory(prefix="fairflac-guesses-") as folder:
        try:
            fit(method, config, training, fabric, Run(Path(folder)), label=label, silent=silent)
        except Stopped:  # a training says that it goes on from there
            raise Stopped(f"the {work} was stopped, and nothing of it is kept: start it again") from None
    return [predictions(method, data, fabric) for data in sets]


def _config(kind: str, images: int, seed: int, *, short: bool) -> RunConfig:
    """A kind of the recipes; without augmentation, which could hide a shortcut (a mark in a corner)."""
    settings = {**bias_model_kind("folder", kind), "augment": "none", "path": "."}
    method = settings.pop("method", "vanilla")
    usual = resolve("folder", method, seed, settings)
    steps = max(1, images // usual.train.batch_size)  # of an epoch
    fewest = EPOCHS if short else usual.train.epochs
    return resolve("folder", method, seed, {**settings, "epochs": max(fewest, ceil(STEPS / steps))})


def _small(data: BiasedDataset) -> BiasedDataset:
    """What the audited model sees of the images, at the size of this one."""
    images = np.stack([shrink(image, SIDE) for image in centre_crop(data.images, data.task.image_size)])
    return replace(data, images=images, task=replace(data.task, image_size=(images.shape[1], images.shape[2])))
