"""Are the probabilities that a model gives true?"""

import numpy as np

from fairflac.metrics.intervals import DRAWS, SEED, percentiles

BINS = 15  # of equal width, as is usual (Guo et al., 2017)


def calibration_error(score: np.ndarray, right: np.ndarray) -> float:
    """(N,) probabilities of the predicted class, (N,) bool → expected calibration error.

    The mean over bins of |share of right answers - mean probability|, weighted by the images in a bin.
    """
    return float(_errors(_bins(score), right - score, np.arange(len(score))[None])[0])


def calibration_interval(score: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Bootstrap over the images. The error of a resample is a little larger, as that of any small sample is."""
    resamples = np.random.default_rng(SEED).integers(0, len(score), (DRAWS, len(score)))
    return percentiles(_errors(_bins(score), right - score, resamples))


def _bins(score: np.ndarray) -> np.ndarray:
    return np.minimum((score * BINS).astype(np.int64), BINS - 1)


def _errors(bins: np.ndarray, surplus: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(R, n) rows drawn → (R,) errors: within a bin, n_b |accuracy - confidence| is |Σ (right - score)|."""
    place = bins[rows] + BINS * np.arange(len(rows))[:, None]
    sums = np.bincount(place.ravel(), surplus[rows].ravel(), BINS * len(rows)).reshape(len(rows), BINS)
    errors: np.ndarray = np.abs(sums).sum(1) / rows.shape[1]
    return errors
