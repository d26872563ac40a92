"""Exchange of row gradients of tables; only rows that a batch has touched are sent."""

from contextlib import nullcontext

import numpy as np

from sparkdl.nn.tables.bags import RowGradients, merge
from sparkdl.nn.tables.row_keys import RowKeys

ALIGNMENT = 8  # bytes, of each part of a message


class RowExchange:
    """Turns a replica's row gradients into the weighted mean over all workers.

    Each worker sends the ids and gradients of its rows to all others and adds up what it receives
    in the order of ranks, so that the full tables of all workers stay bitwise equal.

    Parameters
    ----------
    worker : Worker
        Its replica is a TableReplica.
    """

    def __init__(self, worker):
        self.worker = worker
        self._parts = []

    def begin(self, steps, following=None):
        """Fetches the rows that the GradientSteps of an update read; all workers must call it.

        May start to fetch the rows of `following`, the steps of the next update; None if these are
        not known yet, on any worker.
        """

    def pulling(self):
        """Returns a context in which the replica may read any batch; all workers must enter it."""
        return nullcontext()

    def keep(self, weight):
        """Keeps the replica's row gradients as one contribution of this worker."""
        self._parts.append((weight, self.worker.replica.row_gradients))

    def end(self):
        """Exchanges row gradients; the replica's are then the mean."""
        groups, parts = self.worker.replica.groups, self._parts
        weights, self._parts = [weight for weight, _ in parts], []
        own = [
            merge([rows[i] for _, rows in parts], weights) if parts else no_rows(group.dimension)
            for i, group in enumerate(groups)
        ]
        messages = self._send(sum(weights), own)
        received = [decode(message, [group.dimension for group in groups]) for message in messages]
        total = sum(weight for weight, _ in received)
        factors = [1 / total] * len(received)
        self.worker.replica.row_gradients = [
            merge([rows[i] for _, rows in received], factors) for i in range(len(groups))
        ]

    def _send(self, weight, own):
        """Sends [RowGradients] to all workers that update them; returns what arrives, by rank."""
        message = encode(weight, own)
        with self.worker.exchanging():
            return self.worker.group.all_gather_bytes(message)


def no_rows(dimension):
    """Returns the RowGradients of a batch that touches no rows."""
    return RowGradients(RowKeys.of([]), np.zeros((0, dimension), np.float32))


def encode(weight, parts):
    """Returns the bytes of a weight and the RowGradients of each group."""
    head = np.array([weight], np.float64), np.array([len(p.keys.ids) for p in parts], np.int64)
    arrays = [*head, *(a for part in parts for a in (part.keys.ids, part.rows, part.keys.tables))]
    return np.concatenate([array for a in arrays for array in padded(a)])


def padded(array):
    """Returns the bytes of an array and its padding up to the next multiple of ALIGNMENT."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return data, np.zeros(-len(data) % ALIGNMENT, np.uint8)


def decode(message, widths):
    """Returns (weight, [RowGradients of each group]) from encoded bytes; `widths` are the rows'."""
    message, at, parts = message.tobytes(), 0, []

    def take(kind, count):
        nonlocal at
        array = np.frombuffer(message, kind, count, at)
        at += array.nbytes + -array.nbytes % ALIGNMENT
        return array

    weight, counts = float(take(np.float64, 1)[0]), take(np.int64, len(widths))
    for count, width in zip(counts.tolist(), widths, strict=True):
        ids, rows = take(np.int64, count), take(np.float32, count * width)
        keys = RowKeys(take(np.int16, count), ids)
        parts.append(RowGradients(keys, rows.reshape(count, width)))
    return weight, parts
