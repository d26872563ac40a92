"""Writer of LMDB databases in Caffe's format."""

from collections.abc import Iterable
from itertools import islice
from os import PathLike

import lmdb
import numpy as np

from sparkdl.data.batches.batch import Batch, require_plain
from sparkdl.data.batches.columns import Violation, class_column
from sparkdl.data.files import atomic_directory, check_free, local_path
from sparkdl.data.readers.encodings.datum import encode
from sparkdl.errors import DataError

MAP_SIZE = 2**40  # upper limit; the file is as large as its contents
RECORDS_PER_COMMIT = 1000
CLASSES = 2**31 - 1


def write_lmdb(path: str | PathLike[str], batches: Iterable[Batch]) -> int:
    """Writes records as Datums under the keys 00000000, 00000001 and so on.

    Parameters
    ----------
    path : str
        A folder that does not exist yet; it appears once it is whole.
    batches : iterable of Batch
        Features (n, C, H, W), (n, H, W) or (n, F); uint8 is written as bytes, all else as
        float32. Labels whole numbers, or none. No other columns.

    Returns
    -------
    int
        Records written.

    Raises
    ------
    DataError
        Something is there, there are no records, or one cannot be written.
    """
    path = local_path(path)
    check_free(path)
    with atomic_directory(path) as folder:
        with lmdb.open(folder, map_size=MAP_SIZE, lock=False) as environment:
            count = _write(environment, batches)
        if count == 0:
            raise DataError(f"{path}: an LMDB must hold records, got none")
    return count


def datums(batches):
    """Yields (key, Datum bytes) of all records, with keys 00000000, 00000001 ..."""
    count = 0
    for batch in batches:
        require_plain(batch)
        images, labels = _images(batch.features), _labels(batch, count)
        for i, image in enumerate(images):
            yield b"%08d" % (count + i), encode(image, None if labels is None else labels[i])
        count += len(batch)


def _write(environment, batches):
    count, records = 0, datums(batches)
    while piece := list(islice(records, RECORDS_PER_COMMIT)):
        with environment.begin(write=True) as transaction:
            for key, value in piece:
                transaction.put(key, value, append=True)
        count += len(piece)
    return count


def _images(x):
    """Returns images with or without a channel axis, or rows, as (n, C, H, W)."""
    if x.ndim not in (2, 3, 4):
        raise DataError(f"features must be (n, C, H, W), (n, H, W) or (n, F), got {x.shape}")
    after = {2: (1, 1), 3: (), 4: ()}[x.ndim]
    before = (1,) if x.ndim == 3 else ()
    x = x if x.dtype == np.uint8 else x.astype(np.float32, copy=False)
    return x.reshape(len(x), *before, *x.shape[1:], *after)


def _labels(batch, count):
    if batch.labels is None:
        return None
    try:
        return class_column(batch.labels, CLASSES)
    except Violation as offence:
        raise DataError(f"record {count + offence.row}: {offence}") from None
