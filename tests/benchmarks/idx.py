"""Files of MNIST."""

import gzip

import numpy as np


def read_idx(path):
    """The bytes of a gzipped IDX file, one row for each record: (n, ...) uint8."""
    with gzip.open(path) as file:
        raw = file.read()
    lengths = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(lengths)
