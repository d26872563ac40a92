"""Sample data set in the package: 10,000 handwritten digits, the MNIST test set."""

import gzip
from importlib.resources import files

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError

PARTS = {"train": slice(0, 8000), "test": slice(8000, 10000)}


def digits(part: str = "train") -> Batch:
    """Loads images uint8 (n, 1, 28, 28) and labels int32 (n,) of 0 to 9.

    Parameters
    ----------
    part : str
        "train", the first 8,000 digits, or "test", the last 2,000.

    References
    ----------
    LeCun, Cortes and Burges, The MNIST database of handwritten digits.
    """
    if part not in PARTS:
        raise ConfigError(f"digits has the parts {list(PARTS)}, got {part!r}")
    images = _read("t10k-images-idx3-ubyte.gz").reshape(-1, 1, 28, 28)
    labels = _read("t10k-labels-idx1-ubyte.gz").astype(np.int32)
    return Batch.of(images, labels).take(PARTS[part])


def _read(name):
    """Reads the numbers of an IDX file: magic number with the number of axes, sizes, bytes."""
    resource = files("sparkdl.data.samples").joinpath(name)  # works inside a zip of --py-files, too
    content = gzip.decompress(resource.read_bytes())
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])
