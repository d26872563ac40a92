"""Two bits a number, four numbers a byte, the first in the highest bits."""

import numpy as np

CODES = np.arange(256, dtype=np.uint8)[:, None] >> np.array([6, 4, 2, 0], np.uint8) & 3


def bytes_for(n):
    """Returns the bytes that n codes take."""
    return -(-n // 4)


def pack_pairs(high, low):
    """Returns the bytes of the codes whose bits are `high` and `low`, bool (n,).

    Zeros at the end.
    """
    both = np.empty((len(high), 2), bool)
    both[:, 0], both[:, 1] = high, low
    return np.packbits(both)


def levels(codes, of_code):
    """Returns float32 (4 * bytes,): what `of_code` (4,) says of each code in the bytes `codes`."""
    out = np.empty((len(codes), 4), np.float32)
    table = np.asarray(of_code, np.float32)[CODES]
    np.take(table, codes, axis=0, out=out, mode="clip")
    return out.reshape(-1)


def ends_in_zeros(codes, n):
    """Returns whether the bits after n codes are 0."""
    return not n % 4 or codes[-1] & (0xFF >> 2 * (n % 4)) == 0
