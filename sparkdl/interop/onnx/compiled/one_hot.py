"""Products of one-hot rows with a matrix, as files express embeddings: row lookups instead."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.graph import Spec, Tensor
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.shape import BroadcastToOp, CastOp
from sparkdl.engine.ops.softmax import OneHotOp
from sparkdl.errors import UnsupportedError


@dataclass(frozen=True)
class PickRowsOp(Op):
    """Looks up rows of a table (K, F) at labels (...); zeros for labels outside [0, K)."""

    def shape(self, table, labels):
        return Spec((*labels.shape, table.shape[1]), table.dtype)

    def reference(self, table, labels):
        found = np.take(table, labels, axis=0, mode="clip")
        found[(labels < 0) | (labels >= len(table))] = 0
        return found


def equal(labels, classes):
    """Converts labels (..., 1) compared with 0, 1 ... to one-hot rows."""
    if isinstance(labels, np.ndarray):
        labels, classes = classes, labels
    if isinstance(classes, Tensor) or labels.dtype.kind != "i" or classes.shape[-1:] < (2,):
        raise UnsupportedError("numbers compared")
    count, shape = classes.size, np.broadcast_shapes(labels.shape, classes.shape)
    if is_spread(labels):
        labels = labels.node.inputs[0]
    fits = labels.shape == (*shape[:-1], 1) and len(shape) > 1
    if not fits or not np.array_equal(classes.reshape(-1), np.arange(count)):
        raise UnsupportedError("numbers compared")
    return ops.cast(OneHotOp(count)(ops.reshape(labels, shape[:-1])), "bool")


def is_spread(x):
    return x.node is not None and isinstance(x.node.op, BroadcastToOp)


def cast(x, *, to, **options):
    """Converts one-hot rows to numbers."""
    if options or to != 1 or one_hot_of(x) is None:
        raise UnsupportedError("another cast")
    return x.node.inputs[0]


def one_hot_of(x):
    """Returns the node that computes x as one-hot rows, or None."""
    node = x.node
    if node is not None and isinstance(node.op, CastOp):
        node = node.inputs[0].node
    return node if node is not None and isinstance(node.op, OneHotOp) else None


def pick_rows(x, table):
    """Returns x times a table if the rows of x are one-hot, else None."""
    node = one_hot_of(x) if isinstance(x, Tensor) and isinstance(table, np.ndarray) else None
    if node is None or table.ndim != 2 or not np.isfinite(table).all():
        return None
    return PickRowsOp()(table, node.inputs[0])


LABELS = {"Cast": cast, "Equal": equal}
