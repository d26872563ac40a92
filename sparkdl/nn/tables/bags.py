"""Bags of rows: how an example's rows become one, and its gradient theirs."""

from typing import NamedTuple

import numpy as np

from sparkdl.errors import DataError, ShapeError
from sparkdl.nn.tables.row_keys import PADDING, RowKeys, join_keys, number_keys, sum_rows


class RowGradients(NamedTuple):
    """Gradients of rows: their `keys`, RowKeys (n,), each once; and `rows` (n, dimension)."""

    keys: RowKeys
    rows: np.ndarray


class Bag(NamedTuple):
    """The ids of one bag of each example.

    `table` is the number of its table, `ids` are (n, width), -1 for none. `factors` (n, width) are
    those of the rows, 0 for none; None where there is one row of factor 1, or none.
    """

    table: int
    ids: np.ndarray
    factors: np.ndarray | None

    def pool(self, rows):
        """Returns the bags (n, dimension), given the rows (n * width, dimension) of the ids."""
        if self.factors is None:
            return rows
        if self.factors.shape[1] == 1:
            return rows * self.factors
        rows = rows.reshape(*self.factors.shape, -1)
        return np.einsum("bw,bwd->bd", self.factors, rows)

    def spread(self, slopes):
        """Returns the gradients (n * width, dimension) of the ids' rows, given the bags'."""
        if self.factors is None:
            return slopes
        terms = slopes[:, None, :] * self.factors[:, :, None]
        return terms.reshape(-1, slopes.shape[1])


class Bags(NamedTuple):
    """The bags of a batch whose rows are as wide.

    `keys` (u,) are the rows that they read, each once, as they first appear. `numbers` say for each
    id of each bag which of them it is, -1 for none.
    """

    parts: list[Bag]
    keys: RowKeys
    numbers: np.ndarray

    @classmethod
    def of(cls, parts):
        """Returns the Bags of several, each a Bag."""
        tables = np.array([bag.table for bag in parts], np.int16)
        tables = tables.repeat([bag.ids.size for bag in parts])
        ids = [bag.ids.reshape(-1) for bag in parts]
        ids = np.concatenate(ids, dtype=np.int64, casting="unsafe")
        check_range(ids)
        return cls(parts, *number_keys(RowKeys(tables, ids)))

    def pool(self, rows):
        """Returns [bags (n, dimension) of each part], given the rows (u, dimension) of keys."""
        if self.numbers.size and self.numbers.min() == PADDING:  # which then is the last
            rows = np.concatenate([rows, np.zeros((1, rows.shape[1]), np.float32)])
        stops = np.cumsum([bag.ids.size for bag in self.parts])
        numbers = np.split(self.numbers, stops[:-1])
        return [
            bag.pool(rows.take(own, axis=0)) for bag, own in zip(self.parts, numbers, strict=True)
        ]

    def spread(self, slopes):
        """Returns the RowGradients that gradients (n, dimension) of the parts amount to."""
        rows = [bag.spread(slope) for bag, slope in zip(self.parts, slopes, strict=True)]
        return RowGradients(self.keys, sum_rows(rows, self.numbers, len(self.keys.ids)))


def make_bag(ids, combine, weights=None, table=0):
    """Returns the Bag of ids (n, width), -1 where there is none.

    Parameters
    ----------
    combine : str
        "sum": w r, summed over an example's ids with rows r and weights w; "mean": that, divided
        by the sum of the weights; "sqrtn": by the root of the sum of their squares. A bag without
        ids is 0, and so is one whose divisor is 0.
    weights : (n, width) float, optional
        1 unless given.

    References
    ----------
    tf.nn.embedding_lookup_sparse.
    """
    check_type(ids)
    if weights is None and ids.shape[1] == 1:
        return Bag(table, ids, None)
    factors = (ids != PADDING).astype(np.float32)
    if weights is not None:
        if weights.shape != ids.shape:
            raise ShapeError(f"weights of ids {ids.shape} must have their shape, {weights.shape}")
        factors *= weights
    return Bag(table, ids, normalize(factors, combine))


def normalize(factors, combine):
    """Returns the factors of rows, given their weights, 0 where there is no row.

    They are 0 as well where what they are divided by is 0, as the weights 1 and -1 have a mean of.
    """
    if combine == "sum":
        return factors
    factors = scale_rows(factors)
    squared = combine == "sqrtn"
    total = np.sqrt(np.square(factors).sum(1)) if squared else factors.sum(1)
    divisor = np.where(total == 0, np.inf, total).astype(np.float32)
    return factors / divisor[:, None]


def scale_rows(factors):
    """Returns factors times a power of two for each row, so that the largest is in [0.5, 1).

    A quotient of them has the same bits, and no square or sum overflows or vanishes.
    """
    _, exponents = np.frexp(np.abs(factors).max(1, initial=0))
    return np.ldexp(factors, -exponents[:, None])


def check_type(ids):
    """Raises DataError unless ids are integers that int64 holds."""
    if ids.dtype.kind not in "iu":
        raise DataError(f"ids must be integers, got {ids.dtype}; float32 is exact to 2^24 alone")
    if ids.dtype == np.uint64 and ids.size and ids.max() >= 2**63:
        raise DataError(f"ids must be below 2^63, got {ids.max()}")


def check_range(ids):
    """Raises DataError unless ids are at least -1."""
    if ids.size and ids.min() < PADDING:
        raise DataError(f"ids must be at least 0, or -1 for none, got {ids.min()}")


def merge(parts, factors=None):
    """Returns the sum of several RowGradients, each with its factor, in the order given."""
    factors = np.ones(len(parts), np.float32) if factors is None else factors
    scaled = [
        part.rows if factor == 1 else part.rows * np.float32(factor)
        for part, factor in zip(parts, factors, strict=True)
    ]
    if len(parts) == 1:
        return RowGradients(parts[0].keys, scaled[0])
    keys, numbers = number_keys(join_keys([part.keys for part in parts]))
    return RowGradients(keys, sum_rows(scaled, numbers, len(keys.ids)))


def unite(parts):
    """Returns the keys of several RowKeys, each once."""
    return parts[0] if len(parts) == 1 else number_keys(join_keys(parts))[0]
