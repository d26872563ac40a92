"""Size and order of the blocks that a worker trains on."""

import struct
from hashlib import blake2b

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError


def permutation(seed, *key, n):
    """Returns a permutation (n,) of n records that depends only on the integers `seed` and `key`.

    It is the sorting order of n raw 64-bit Philox numbers, so it is the same on every machine and,
    unlike `Generator.permutation`, in every version of numpy.
    """
    digest = blake2b(struct.pack(f"<{1 + len(key)}q", seed, *key), digest_size=16).digest()
    bits = np.random.Philox(key=int.from_bytes(digest, "little")).random_raw(n)
    return np.argsort(bits, kind="stable")


def blocks(batches, size):
    """Cuts and joins batches into blocks of `size` records; the last block may be smaller.

    Keeps the order, and copies each record at most once.
    """
    if size < 1:
        raise ConfigError(f"blocks need a size of at least 1 record, got {size}")
    return _blocks(batches, size)


def _blocks(batches, size):
    pieces, missing = [], size
    for batch in batches:
        start = 0
        while len(batch) - start >= missing:
            yield Batch.concat([*pieces, batch.take(slice(start, start + missing))])
            pieces, start, missing = [], start + missing, size
        if start < len(batch):
            pieces.append(batch.take(slice(start, None)))
            missing -= len(batch) - start
    if pieces:
        yield Batch.concat(pieces)
