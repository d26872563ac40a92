"""Grouping of records into Batches of a few megabytes."""

from itertools import islice

import numpy as np

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.batches.columns import Violation
from sparkdl.errors import DataError

BYTES_PER_BATCH = 2**22
RECORDS_PER_BATCH = 1024
VIEWS_PER_BATCH = 256  # keeps small images in a core's cache while they are joined


def chunks(values, nbytes=len):
    """Yields lists of at most RECORDS_PER_BATCH values; each ends once it has BYTES_PER_BATCH."""
    chunk, size = [], 0
    for value in values:
        chunk.append(value)
        size += nbytes(value)
        if size >= BYTES_PER_BATCH or len(chunk) == RECORDS_PER_BATCH:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def view_chunks(views):
    """Yields lists of memoryviews like `chunks`, but takes many small ones at once."""
    while chunk := list(islice(views, VIEWS_PER_BATCH)):
        fits = sum(map(len, chunk)) <= BYTES_PER_BATCH
        yield from [chunk] if fits else chunks(chunk)


def batches(split, records, columns, nbytes=len):
    """Yields the Batches of a split's records; see `chunks` and `chunk_batch`."""
    start = 0
    for chunk in chunks(records, nbytes):
        yield chunk_batch(split, start, chunk, columns)
        start += len(chunk)


def chunk_batch(split, start, values, columns):
    """Returns the Batch of a chunk of a split's records, after `start` previous records.

    Parameters
    ----------
    columns : function list of values -> {name: array}
        May raise Violation.
    """
    try:
        arrays = columns(values)
    except Violation as offence:
        raise DataError(f"{split}, record {start + offence.row}: {offence}") from None
    return Batch(columns=arrays, ids=record_ids(split.partition, start, len(values)))


def stack_arrays(arrays, what="features"):
    """Stacks arrays of equal shape. Raises Violation for the first with another shape."""
    shape = arrays[0].shape
    for row, array in enumerate(arrays):
        if array.shape != shape:
            raise Violation(row, f"{what} must have the shape {shape} as before, got {array.shape}")
    return np.stack(arrays)
