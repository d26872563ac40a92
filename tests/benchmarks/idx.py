"""MNIST's file format."""

import gzip

import numpy as np


def read_idx(path):
    """Reads a gzipped IDX file as (n, ...) uint8, one row per record."""
    with gzip.open(path) as file:
        raw = file.read()
    lengths = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(lengths)
