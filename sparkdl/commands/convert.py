"""sparkdl convert: copies records from any source to an LMDB, Parquet or SequenceFiles."""

import numpy as np

from sparkdl.commands.options.data_argument import parse_data
from sparkdl.data import (
    files,
    write_lmdb_anywhere,
    write_parquet,
    write_sequence_datums,
)
from sparkdl.data.batches.batch import require_plain
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.caffe.messages import blobs

WRITERS = {
    "LMDB": write_lmdb_anywhere,
    "Parquet": write_parquet,
    "SequenceFiles": write_sequence_datums,
}


def convert(arguments):
    """Reads every record once, in order, and writes it."""
    if arguments.output is None and arguments.mean is None:
        raise ConfigError("sparkdl convert needs --output or --mean: there is nothing to write")
    for name in ("output", "mean"):
        if getattr(arguments, name) == "":
            raise ConfigError(f"--{name} must be a path that is not empty, got ''")
    data = parse_data(arguments.data)
    data.check()
    mean = None if arguments.mean is None else Mean()
    batches = records(data, shape_of(arguments.shape), mean)
    if arguments.output is None:
        count = sum(map(len, batches))
    else:
        count = WRITERS[arguments.to](arguments.output, batches)
        print(f"{count} records are in {arguments.output}")
    if mean is not None:
        write_mean(arguments.mean, mean, count)
        print(f"the mean of {count} images is in {arguments.mean}")


def records(source, shape, mean):
    """Yields Batches of all records after the source's transform."""
    for split in source.splits():
        for batch in source.read(split):
            batch = batch if source.transform is None else source.transform(batch)
            require_plain(batch)
            batch = batch if shape is None else reshape_features(batch, shape, split)
            if mean is not None:
                mean.add(batch.features, split)
            yield batch


def reshape_features(batch, shape, split):
    try:
        return batch.replace(features=batch.features.reshape(len(batch), *shape))
    except ValueError:
        got = batch.features.shape[1:]
        raise DataError(f"{split}: records of {got} cannot be reshaped to {shape}") from None


def shape_of(written):
    """Parses "3,32,32" into (3, 32, 32)."""
    if written is None:
        return None
    sizes = written.replace("x", ",").split(",")
    if not all(size.strip().isdecimal() and int(size) for size in sizes):
        raise ConfigError(f"--shape must be sizes such as 3,32,32, got {written!r}")
    return tuple(map(int, sizes))


class Mean:
    """Mean of images, accumulated batch by batch."""

    def __init__(self):
        self.total = None

    def add(self, x, where):
        if self.total is not None and self.total.shape != x.shape[1:]:
            raise DataError(
                f"{where}: images must have the shape {self.total.shape}, got {x.shape[1:]}"
            )
        part = x.sum(axis=0, dtype=np.float64)
        self.total = part if self.total is None else self.total + part


def write_mean(path, mean, count):
    """Writes the mean as float32: Caffe's .binaryproto, or a .npy file for MeanImage(path=...)."""
    if count == 0:
        raise DataError(f"{path}: there are no images to average")
    image = (mean.total / count).astype(np.float32)
    if path.endswith(".binaryproto"):
        if image.ndim != 3:
            text = f"a .binaryproto holds images (C, H, W), got {image.shape}; give --shape"
            raise DataError(f"{path}: {text}")
        return blobs.write_mean(path, image)
    with files.open(path, "wb") as file:
        np.save(file, image)
