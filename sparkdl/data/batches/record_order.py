"""An order of records that does not depend on the one in which they came.

A partition of an RDD after a shuffle has the same records each time, but as they arrived from other
executors. A fit on such records would have other weights each time.
"""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from sparkdl.data.batches.batch import POSITION_BITS, Batch, common_names, record_ids
from sparkdl.data.batches.dealing import WINDOW_BYTES, mix_bits
from sparkdl.data.batches.random_access import RandomAccess

WORDS = 64  # of each record hashed at a time: the intermediate arrays stay in the CPU's cache


def sort_records(batches: Sequence[Batch]) -> Iterator[Batch]:
    """Yields all records, sorted by a hash of their values. Raises DataError if columns differ.

    Their types are those of `common_types`. Ids count from 0 on, in the partition of the first
    record: where records have been left out, the ids that came have gaps, in other places each
    time. Equal records remain in the order in which they came, which nobody can see. Of others
    about one pair in 2^64 has equal hashes.

    Parameters
    ----------
    batches : list of Batch
        Of one partition, with the same columns. Up to WINDOW_BYTES of their records are copied at a
        time.
    """
    records = RandomAccess([batch for batch in batches if len(batch)])
    if not len(records):
        return
    kinds = common_types(records.batches)
    partition = int(records.batches[0].ids[0]) >> POSITION_BITS
    order = np.argsort(hash_records(records.batches, kinds), kind="stable")
    nbytes = sum(batch.nbytes for batch in records.batches)
    size = max(1, WINDOW_BYTES * len(records) // max(nbytes, 1))
    for start in range(0, len(records), size):
        window = order[start : start + size]
        ascending = np.argsort(window, kind="stable")
        taken = records.take(window[ascending])
        taken = taken.take(np.argsort(ascending, kind="stable")).columns
        columns = {name: np.asarray(column, kinds[name]) for name, column in taken.items()}
        yield Batch(columns=columns, ids=record_ids(partition, start, len(window)))


def hash_records(batches: Sequence[Batch], kinds: dict[str, np.dtype]) -> np.ndarray:
    """Returns a hash (n,) uint64 of each record's values, in columns of these types."""
    return np.concatenate([_hash_batch(batch, kinds) for batch in batches])


def common_types(batches: Sequence[Batch]) -> dict[str, np.dtype]:
    """Returns {column: type} that holds the values of all batches, with the names in order.

    Records of mixed types make batches of other types, depending on their order.
    """
    names = sorted(common_names(batches))
    return {name: np.result_type(*(b.columns[name].dtype for b in batches)) for name in names}


def _hash_batch(batch, kinds):
    total, place = np.zeros(len(batch), np.uint64), 0
    for name, kind in kinds.items():
        words = _words(np.asarray(batch.columns[name], kind))
        for start in range(0, words.shape[1], WORDS):
            part = words[:, start : start + WORDS]
            keys = mix_bits(np.arange(place, place + part.shape[1], dtype=np.uint64))
            total += mix_bits(part + keys).sum(axis=1, dtype=np.uint64)
            place += part.shape[1]
    return total


def _words(column):
    """Returns a column's values as an array (n, ...) of 64-bit words, with zeros at the end."""
    nbytes = column.itemsize * prod(column.shape[1:])
    data = np.frombuffer(column.tobytes(), np.uint8).reshape(len(column), nbytes)
    rest = -data.shape[1] % 8
    data = np.pad(data, ((0, 0), (0, rest))) if rest else data
    return data.view(np.uint64)
