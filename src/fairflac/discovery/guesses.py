"""Guesses of an early, low-capacity bias model, which stand in for an attribute that nobody has labelled.

A network of 23 x 23 pixels, stopped after a few epochs, learns what is easy and little else. No image is guessed by a
model that saw it in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from lightning_fabric import Fabric

from fairflac.config.recipes import bias_model_kind
from fairflac.config.run_config import RunConfig, resolve
from fairflac.data.base import BiasedDataset, hash_split
from fairflac.data.pixels.resample import centre_crop
from fairflac.errors import Stopped
from fairflac.runs.directory import Run
from fairflac.runs.gallery import shrink
from fairflac.training.build import build_method
from fairflac.training.engine import make_fabric
from fairflac.training.evaluate import predictions
from fairflac.training.pipeline import fit

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
    if training is not None:
        similar = _small(training)
        held_out = folds(similar.images, HELD_OUT, seed)[0]
        trial, rest = similar.take(held_out), similar.take(np.setdiff1d(np.arange(len(similar)), held_out))
        guess, trial_guess = _guessed(rest, [audited, trial], seed, fabric, "bias model", silent)
        return Guesses(guess, f"trained on {len(rest):,} of the training images", trial.y, trial_guess)
    guess = np.empty_like(data.y)
    for number, rows in enumerate(folds(audited.images, FOLDS, seed), start=1):
        others = np.setdiff1d(np.arange(len(data)), rows)
        label = f"bias model {number} of {FOLDS}"
        (guess[rows],) = _guessed(audited.take(others), [audited.take(rows)], seed, fabric, label, silent)
    return Guesses(guess, f"trained {FOLDS} times, each time without the images that it then guessed", data.y, guess)


def folds(images: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Rows of each part; copies of an image stay together."""
    names = [f"{row:09d}" for row in range(len(images))]
    digests = np.array([hash(image.tobytes()) for image in images])
    return [np.sort(rows) for rows in hash_split(names, [1 / count] * count, seed, digests)]


def _guessed(
    training: BiasedDataset, sets: Sequence[BiasedDataset], seed: int, fabric: Fabric, label: str, silent: bool
) -> list[np.ndarray]:
    config = _config(len(training), seed)
    torch.manual_seed(seed)
    method = build_method(config, training.task)
    with TemporaryDirectory(prefix="fairflac-audit-") as folder:
        try:
            fit(method, config, training, fabric, Run(Path(folder)), label=label, silent=silent)
        except Stopped:  # a training says that it goes on from there
            raise Stopped("the audit was stopped, and nothing of it is kept: start it again") from None
    return [predictions(method, data, fabric).prediction for data in sets]


def _config(images: int, seed: int) -> RunConfig:
    """The kind `small` of the recipes; without augmentation, which could hide a shortcut (a mark in a corner)."""
    kind = {**bias_model_kind("folder", "small"), "augment": "none", "path": "."}
    steps = max(1, images // resolve("folder", "vanilla", seed, kind).train.batch_size)  # of an epoch
    return resolve("folder", "vanilla", seed, {**kind, "epochs": max(EPOCHS, ceil(STEPS / steps))})


def _small(data: BiasedDataset) -> BiasedDataset:
    """What the audited model sees of the images, at the size of this one."""
    images = np.stack([shrink(image, SIDE) for image in centre_crop(data.images, data.task.image_size)])
    return replace(data, images=images, task=replace(data.task, image_size=(images.shape[1], images.shape[2])))
