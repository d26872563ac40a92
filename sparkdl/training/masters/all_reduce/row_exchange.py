"""Gradients of tables' rows, summed over workers: only rows that a batch has touched travel."""

from contextlib import nullcontext

import numpy as np

from sparkdl.nn.tables.bags import RowGradients, merge


class RowExchange:
    """Turns a replica's row gradients into the weighted mean over all workers.

    Each worker sends the ids and gradients of its rows to all others, and each adds them up in the
    order of ranks. So all workers, which have all tables, keep the same bits.

    Parameters
    ----------
    worker : Worker
        Its replica is a TableReplica.
    """

    def __init__(self, worker):
        self.worker = worker
        self._parts = []

    def begin(self, steps):
        """Fetches the rows that the GradientSteps of an update read; all workers call it."""

    def pulling(self):
        """Returns a context in which the replica may read any batch; all workers enter it."""
        return nullcontext()

    def keep(self, weight):
        """Keeps the replica's row gradients, some of those that this worker gives."""
        self._parts.append((weight, self.worker.replica.row_gradients))

    def end(self):
        """Exchanges; the replica's row gradients are the mean."""
        replica, tables = self.worker.replica, self.worker.replica.tables
        weights = [weight for weight, _ in self._parts]
        own = {
            name: merge([part[name] for _, part in self._parts], weights)
            if self._parts
            else no_rows(table.dimension)
            for name, table in tables.items()
        }
        self._parts = []
        messages = self._send(sum(weights), own)
        widths = [table.dimension for table in tables.values()]
        received = [decode(bytes_, widths) for bytes_ in messages]
        total = sum(weight for weight, _ in received)
        factors = [1 / total] * len(received)
        replica.row_gradients = {
            name: merge([rows[i] for _, rows in received], factors) for i, name in enumerate(tables)
        }

    def _send(self, weight, own):
        """Sends {table: RowGradients} to all that update them; returns what comes, by rank."""
        message = encode(weight, own.values())
        with self.worker.exchanging():
            return self.worker.group.all_gather_bytes(message)


def no_rows(dimension):
    """Returns the RowGradients of a batch that touches no rows."""
    return RowGradients(np.zeros(0, np.int64), np.zeros((0, dimension), np.float32))


def encode(weight, parts):
    """Returns the bytes of a weight and the RowGradients of each table."""
    parts = list(parts)
    head = np.array([weight], np.float64), np.array([len(part.ids) for part in parts], np.int64)
    arrays = [*head, *(array for part in parts for array in part)]
    return np.concatenate([np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in arrays])


def decode(message, widths):
    """Returns (weight, [RowGradients of each table, with rows so wide]) of `encode`'s bytes."""
    message, parts = message.tobytes(), []
    weight = float(np.frombuffer(message, np.float64, 1)[0])
    counts = np.frombuffer(message, np.int64, len(widths), 8)
    at = 8 + 8 * len(widths)
    for count, width in zip(counts.tolist(), widths, strict=True):
        ids = np.frombuffer(message, np.int64, count, at)
        rows = np.frombuffer(message, np.float32, count * width, at + 8 * count)
        parts.append(RowGradients(ids, rows.reshape(count, width)))
        at += count * (8 + 4 * width)
    return weight, parts
