"""Bags of rows: how an example's rows become one, and its gradient theirs."""

from typing import NamedTuple

import numpy as np

from sparkdl.errors import DataError, ShapeError

PADDING = -1


class RowGradients(NamedTuple):
    """Gradients of a table's rows: `ids` (n,) int64, rising, and `rows` (n, dimension)."""

    ids: np.ndarray
    rows: np.ndarray


class Bags(NamedTuple):
    """The bags of a batch.

    `ids` (u,) are those in it, each once, rising; `places` (n, width) says which of them stands
    where, u for none; `factors` (n, width) are those of the rows, 0 for none.
    """

    ids: np.ndarray
    places: np.ndarray
    factors: np.ndarray

    def pool(self, rows):
        """Returns the bags (n, dimension), given the rows (u, dimension) of the ids."""
        rows = np.concatenate([rows, np.zeros((1, rows.shape[1]), np.float32)])
        if self.places.shape[1] == 1:
            return rows[self.places[:, 0]] * self.factors
        return np.einsum("bw,bwd->bd", self.factors, rows[self.places])

    def spread(self, slopes):
        """Returns the RowGradients that the bags' gradients (n, dimension) amount to."""
        places = self.places.reshape(-1)
        order = np.argsort(places, kind="stable")
        order = order[places[order] < len(self.ids)]
        terms = slopes[order // self.places.shape[1]] * self.factors.reshape(-1)[order, None]
        return RowGradients(self.ids, sum_runs(terms, places[order]))


def bags_of(ids, combine, weights=None):
    """Returns the Bags of ids (n, width), -1 where there is none.

    Parameters
    ----------
    combine : str
        "sum": w r, summed over an example's ids with rows r and weights w; "mean": that, divided
        by the sum of the weights; "sqrtn": by the root of the sum of their squares. A bag without
        ids is 0.
    weights : (n, width) float, optional
        1 unless given.

    References
    ----------
    tf.nn.embedding_lookup_sparse.
    """
    check_ids(ids)
    present = ids != PADDING
    known, numbers = np.unique(ids[present], return_inverse=True)
    places = np.full(ids.shape, len(known), np.int64)
    places[present] = numbers
    factors = present.astype(np.float32)
    if weights is not None:
        if weights.shape != ids.shape:
            raise ShapeError(f"weights of ids {ids.shape} must have their shape, {weights.shape}")
        factors *= weights
    return Bags(known, places, normalize(factors, combine))


def normalize(factors, combine):
    """Returns the factors of rows, given their weights, 0 where there is no row."""
    if combine == "sum":
        return factors
    squared = combine == "sqrtn"
    total = np.sqrt(np.square(factors).sum(1)) if squared else factors.sum(1)
    return factors / np.where(total == 0, 1, total).astype(np.float32)[:, None]


def check_ids(ids):
    """Raises DataError unless ids are whole numbers of at least -1."""
    if ids.dtype.kind not in "iu":
        raise DataError(f"ids must be integers, got {ids.dtype}; float32 is exact to 2^24 alone")
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
        return RowGradients(parts[0].ids, scaled[0])
    ids = np.concatenate([part.ids for part in parts])
    order = np.argsort(ids, kind="stable")
    ids, rows = ids[order], np.concatenate(scaled)[order]
    return RowGradients(ids[run_starts(ids)], sum_runs(rows, ids))


def unite(parts):
    """Returns {table: ids (n,), rising, each once} of several such."""
    names = dict.fromkeys(name for part in parts for name in part)
    several = {name: [part[name] for part in parts if name in part] for name in names}
    return {
        name: ids[0] if len(ids) == 1 else np.unique(np.concatenate(ids))
        for name, ids in several.items()
    }


def sum_runs(rows, keys):
    """Returns the sums of rows (n, d) over each run of equal keys (n,)."""
    return np.add.reduceat(rows, run_starts(keys), axis=0) if len(keys) else rows


def run_starts(keys):
    """Returns where runs of equal keys begin."""
    return np.flatnonzero(np.diff(keys, prepend=-1))  # keys are at least 0
