"""Packing of two-bit codes, four to a byte, the first in the highest bits."""

import numpy as np

CODES = np.arange(256, dtype=np.uint8)[:, None] >> np.array([6, 4, 2, 0], np.uint8) & 3


def bytes_for(n):
    """Returns how many bytes n codes take."""
    return -(-n // 4)


def pack_pairs(high, low):
    """Packs codes with bits `high` and `low`, bool (n,), into bytes, padded with zeros."""
    both = np.empty((len(high), 2), bool)
    both[:, 0], both[:, 1] = high, low
    return np.packbits(both)


def levels(codes, of_code):
    """Returns the level `of_code` (4,) of each code in the bytes `codes`, float32 (4 * bytes,)."""
    out = np.empty((len(codes), 4), np.float32)
    table = np.asarray(of_code, np.float32)[CODES]
    np.take(table, codes, axis=0, out=out, mode="clip")
    return out.reshape(-1)


def ends_in_zeros(codes, n):
    """Returns whether the padding bits after n codes are 0."""
    return not n % 4 or codes[-1] & (0xFF >> 2 * (n % 4)) == 0
