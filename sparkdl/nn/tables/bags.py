"""Bags of rows: pooling of an example's rows, and the gradients of the rows."""

from typing import NamedTuple

import numpy as np

from sparkdl.errors import DataError, ShapeError
from sparkdl.nn.tables.row_keys import PADDING, RowKeys, join_keys, number_keys, sum_rows


class RowGradients(NamedTuple):
    """Gradients of rows: distinct `keys`, RowKeys (n,), and `rows` (n, dimension)."""

    keys: RowKeys
    rows: np.ndarray


class Bag(NamedTuple):
    """The ids of one bag for each example.

    `table` is the number of its table, `ids` are (n, width), -1 for padding. `factors` (n, width)
    multiply the rows, 0 for padding; None if each example has at most one row, with a factor of 1.
    """

    table: int
    ids: np.ndarray
    factors: np.ndarray | None

    def pool(self, rows):
        """Returns the pooled bags (n, dimension), given the ids' rows (n * width, dimension)."""
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
    """The bags of a batch whose rows have the same dimension.

    `keys` (u,) are the distinct rows that they read, in order of first appearance. `numbers` has
    the index in `keys` of each id of each bag, -1 for padding.
    """

    parts: list[Bag]
    keys: RowKeys
    numbers: np.ndarray

    @classmethod
    def of(cls, parts):
        """Returns the Bags of a list of Bag."""
        tables = np.array([bag.table for bag in parts], np.int16)
        tables = tables.repeat([bag.ids.size for bag in parts])
        ids = [bag.ids.reshape(-1) for bag in parts]
        ids = np.concatenate(ids, dtype=np.int64, casting="unsafe")
        check_range(ids)
        return cls(parts, *number_keys(RowKeys(tables, ids)))

    def pool(self, rows):
        """Returns [pooled bags (n, dimension) per part], given the keys' rows (u, dimension)."""
        if self.numbers.size and self.numbers.min() == PADDING:  # -1 then selects the zeros
            rows = np.concatenate([rows, np.zeros((1, rows.shape[1]), np.float32)])
        stops = np.cumsum([bag.ids.size for bag in self.parts])
        numbers = np.split(self.numbers, stops[:-1])
        return [
            bag.pool(rows.take(own, axis=0)) for bag, own in zip(self.parts, numbers, strict=True)
        ]

    def spread(self, slopes):
        """Returns the RowGradients that follow from the parts' gradients (n, dimension)."""
        rows = [bag.spread(slope) for bag, slope in zip(self.parts, slopes, strict=True)]
        return RowGradients(self.keys, sum_rows(rows, self.numbers, len(self.keys.ids)))


def make_bag(ids, combine, weights=None, table=0):
    """Returns the Bag of ids (n, width), with -1 for padding.

    Parameters
    ----------
    combine : str
        "sum": sum of w r over an example's ids, with rows r and weights w; "mean": that, divided by
        the sum of the weights; "sqrtn": by the square root of the sum of their squares. A bag
        without ids, or with a divisor of 0, is 0.
    weights : (n, width) float, optional
        Default 1.

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
            raise ShapeError(
                f"weights of ids must have their shape {ids.shape}, got {weights.shape}"
            )
        factors *= weights
    return Bag(table, ids, normalize(factors, combine))


def normalize(factors, combine):
    """Returns the factors of rows, given their weights, 0 for padding.

    They are also 0 if the divisor is 0, as is the mean of the weights 1 and -1.
    """
    if combine == "sum":
        return factors
    factors = scale_rows(factors)
    squared = combine == "sqrtn"
    total = np.sqrt(np.square(factors).sum(1)) if squared else factors.sum(1)
    divisor = np.where(total == 0, np.inf, total).astype(np.float32)
    return factors / divisor[:, None]


def scale_rows(factors):
    """Scales each row of factors by a power of two so that its largest magnitude is in [0.5, 1).

    Quotients keep their bits, while squares and sums neither overflow nor underflow.
    """
    _, exponents = np.frexp(np.abs(factors).max(1, initial=0))
    return np.ldexp(factors, -exponents[:, None])


def check_type(ids):
    """Raises DataError unless ids are integers that fit in int64."""
    if ids.dtype.kind not in "iu":
        raise DataError(f"ids must be integers, got {ids.dtype}; float32 is exact to 2^24 alone")
    if ids.dtype == np.uint64 and ids.size and ids.max() >= 2**63:
        raise DataError(f"ids must be below 2^63, got {ids.max()}")


def check_range(ids):
    """Raises DataError unless ids are at least -1."""
    if ids.size and ids.min() < PADDING:
        raise DataError(f"ids must be at least 0, or -1 for none, got {ids.min()}")


def merge(parts, factors=None):
    """Returns the weighted sum of several RowGradients, with keys in order of first appearance."""
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
    """Returns the distinct keys of several RowKeys."""
    return parts[0] if len(parts) == 1 else number_keys(join_keys(parts))[0]
