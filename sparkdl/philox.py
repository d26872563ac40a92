"""Random numbers as a function of a counter and a key: nothing is stored, any order gives the same.

References
----------
Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011): Philox4x32-10.
"""

import numpy as np

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
WORD = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter, key):
    """Four random words for each counter.

    Parameters
    ----------
    counter : four arrays of uint64 that broadcast, each below 2^32
    key : two integers below 2^32

    Returns
    -------
    Four arrays of uint64, each below 2^32.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        low, high = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (high >> HALF) ^ c1 ^ np.uint64(k0),
            high & WORD,
            (low >> HALF) ^ c3 ^ np.uint64(k1),
            low & WORD,
        )
        k0, k1 = (k0 + KEY_STEPS[0]) & 0xFFFFFFFF, (k1 + KEY_STEPS[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3


def uniform(ids, epoch, count, seed, stream):
    """Numbers in [0, 1) for each example.

    Parameters
    ----------
    ids : (n,) uint64, the examples' places in the data set
    epoch : int, so that an example gets new numbers each time it is seen
    count : int, numbers per example
    seed, stream : int, the run's seed and which user of random numbers in the network asks

    Returns
    -------
    (n, count) float32, multiples of 2^-24
    """
    ids = np.asarray(ids, np.uint64)[:, None]
    block = np.arange(-(-count // 4), dtype=np.uint64)[None, :]
    key = seed & 0xFFFFFFFF, ((seed >> 32) * KEY_STEPS[0] + stream) & 0xFFFFFFFF
    words = philox((ids & WORD, ids >> HALF, np.uint64(epoch), block), key)
    words = np.stack(np.broadcast_arrays(*words), axis=-1).reshape(len(ids), 4 * block.size)
    return (words[:, :count] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
