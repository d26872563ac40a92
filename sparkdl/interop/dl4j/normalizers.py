"""Deeplearning4j's normalizers as transforms."""

import numpy as np

from sparkdl.data.transforms import Normalize
from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop.dl4j.nd4j_arrays import JavaStream

HEADER, VERSION = "NORMALIZER", 1
MOST = 1 << 20  # features
VGG = (123.68, 116.779, 103.939)


def read_normalizer(content, where):
    """Reads a normalizer.bin into a Normalize.

    Raises
    ------
    UnsupportedError
        If it is for several inputs or for labels, or of a user's class.
    """
    stream = JavaStream(content, where)
    if stream.text() != HEADER or stream.number("i") != VERSION:
        raise DataError(f"{where}: must be a normalizer of version {VERSION}")
    kind = stream.text()
    if kind not in RULES:
        raise UnsupportedError(f"{where}: a normalizer of kind {kind[:40]!r} is not supported")
    return RULES[kind](stream)


def standardize(stream):
    """Returns (x - mean) / deviation."""
    refuse_labels(stream)
    mean, deviation = (features(stream) for _ in range(2))
    return normalize(stream, mean, deviation)


def min_max(stream):
    """Returns a scaling of x from [lower, upper] of each feature to [low, high]."""
    refuse_labels(stream, stream.number("?"))
    low, high = stream.number("d"), stream.number("d")
    lower, upper = (features(stream) for _ in range(2))
    width = high - low
    if not width > 0:
        raise DataError(f"{stream.where}: [{low}, {high}] must be an interval")
    scale = (upper - lower) / width
    return normalize(stream, lower - low * scale, scale)


def image_min_max(stream):
    """Returns a scaling of x from [0, largest] to [low, high]."""
    low, high, largest = (stream.number("d") for _ in range(3))
    if not high > low or not largest > 0:
        raise DataError(f"{stream.where}: [{low}, {high}] and {largest} must be intervals")
    scale = largest / (high - low)
    return normalize(stream, np.array([-low * scale]), np.array([scale]))


def vgg(stream):
    return Normalize(mean=VGG)


def refuse_labels(stream, fitted=None):
    if stream.number("?") if fitted is None else fitted:
        raise UnsupportedError(f"{stream.where}: a normalizer of labels is not supported")


def features(stream):
    """Reads the next array as one number per feature."""
    found = stream.array().reshape(-1).astype(np.float64)
    if not 0 < found.size <= MOST:
        raise DataError(f"{stream.where}: must be of 1 to {MOST} features, got {found.size}")
    return found


def normalize(stream, mean, deviation):
    """Returns the Normalize, after checking its numbers."""
    if mean.shape != deviation.shape:
        raise DataError(f"{stream.where}: {mean.size} means need as many deviations")
    numbers = np.stack([mean, deviation])
    if not np.isfinite(numbers).all() or (deviation == 0).any():
        raise DataError(f"{stream.where}: numbers must be finite, and deviations not 0")
    return Normalize(mean=tuple(mean.tolist()), std=tuple(deviation.tolist()))


RULES = {
    "IMAGE_MIN_MAX": image_min_max,
    "IMAGE_VGG16": vgg,
    "MIN_MAX": min_max,
    "STANDARDIZE": standardize,
}
