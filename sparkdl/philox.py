"""Counter-based random numbers: stateless, a function of counter and key, in any order.

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
    """Returns four random words for each counter.

    Parameters
    ----------
    counter : four arrays of uint64 that broadcast, each below 2^32
    key : two integers below 2^32, or arrays of uint64 that broadcast, too

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


def key_of(seed, stream):
    """Returns the Philox key for a run's seed and a stream: two integers below 2^32."""
    return seed & 0xFFFFFFFF, ((seed >> 32) * KEY_STEPS[0] + stream) & 0xFFFFFFFF


def words(ids, epoch, count, seed, stream):
    """Returns at least `count` random words per example: (n, count rounded up to 4) uint64.

    `stream` may be an array (n,) of uint64, with one stream per example.
    """
    ids = np.asarray(ids, np.uint64)[:, None]
    stream = stream[:, None] if isinstance(stream, np.ndarray) else stream
    block = np.arange(-(-count // 4), dtype=np.uint64)[None, :]
    bits = philox((ids & WORD, ids >> HALF, np.uint64(epoch), block), key_of(seed, stream))
    return np.stack(np.broadcast_arrays(*bits), axis=-1).reshape(len(ids), 4 * block.size)


def uniform(ids, epoch, count, seed, stream):
    """Draws numbers uniformly from [0, 1) for each example.

    Parameters
    ----------
    ids : (n,) uint64, record ids of the examples
    epoch : int, so that an example gets new numbers each time it is seen
    count : int, numbers per example
    seed, stream : int, the run's seed and the caller's stream in the network; the streams of
        examples as (n,) uint64 if they differ

    Returns
    -------
    (n, count) float32, multiples of 2^-24
    """
    bits = words(ids, epoch, count, seed, stream)
    return (bits[:, :count] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def normal(ids, epoch, count, seed, stream):
    """Draws standard normal numbers (n, count) for each example; see `uniform`.

    Each pair of words gives a pair of numbers, of at most sqrt(64 log 2) = 6.66 in size.

    References
    ----------
    Box and Muller, A note on the generation of random normal deviates (1958).
    """
    bits = words(ids, epoch, count, seed, stream)
    radius = (bits[:, 0::2] + np.uint64(1)).astype(np.float32) * np.float32(2.0**-32)  # never 0
    radius = np.sqrt(np.float32(-2) * np.log(radius))
    angle = bits[:, 1::2].astype(np.float32) * np.float32(2 * np.pi * 2.0**-32)
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(bits.shape)[:, :count]
