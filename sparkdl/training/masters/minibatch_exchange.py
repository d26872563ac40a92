"""What workers tell each other of their minibatches, where several train on one of them."""

import json
from math import prod
from typing import NamedTuple

import numpy as np

from sparkdl.nn.execution.batch_tensors import IDS
from sparkdl.nn.inputs.columns import columns_of


class Minibatch(NamedTuple):
    """What all know of a worker's minibatch.

    Parameters
    ----------
    form : list of (column, type, shape)
        Of all its columns, wherever they are; the first one has an entry for each example.
    share : float
        As GradientStep.share.
    begins : bool
        Whether recurrent layers begin with it, rather than go on.
    """

    form: list
    share: float
    begins: bool

    @property
    def examples(self):
        return self.form[0][2][0]


class MinibatchExchange:
    """Base of what brings the minibatches of workers to others.

    Parameters
    ----------
    worker : Worker
    """

    def __init__(self, worker):
        self.worker = worker
        self._states = None  # of the last step, one object for all chunks of a minibatch

    def _columns_of(self, step):
        """Returns {column: array} of a step, the one with the ids behind the others."""
        if step is None:
            return {}
        columns = columns_of(self.worker.conf, step.batch) | {IDS: step.batch.ids}
        return {name: np.ascontiguousarray(column) for name, column in columns.items()}

    def _meet(self, step, network):
        """Tells all workers of this one's minibatch, or that it has none.

        Parameters
        ----------
        step : GradientStep or None
        network : Group
            Of the workers that hold a network with this one; their ranks follow each other.

        Returns
        -------
        own : {column: array}
            Of this worker's minibatch.
        here : list of Minibatch
            Of the network's workers; None of one that has none.
        examples : (int, int)
            Of the network, and of all networks.
        """
        own = self._columns_of(step)
        everyone = self._gather(step, own)
        first = self.worker.rank - network.rank
        here = everyone[first : first + network.size]
        counts = (sum(m.examples for m in some if m is not None) for some in (here, everyone))
        return own, here, tuple(counts)

    def _gather(self, step, own):
        """Returns the Minibatch of each worker; None of one that has none."""
        minibatch = None
        if step is not None:
            form = [[name, column.dtype.str, column.shape] for name, column in own.items()]
            minibatch = Minibatch(form, step.share, step.states is not self._states)
            self._states = step.states
        gathered = self.worker.group.all_gather_bytes(json.dumps(minibatch).encode())
        fields = [json.loads(bytes(text)) for text in gathered]
        return [None if one is None else Minibatch(*one) for one in fields]


def pack(columns):
    """Returns arrays behind each other, as bytes."""
    data = [column.reshape(-1).view(np.uint8) for column in columns]
    return np.concatenate(data) if data else np.empty(0, np.uint8)


def unpack(form, data):
    """Returns {column: array} of what `pack` has put into `data`, given [(column, type, shape)]."""
    columns, start = {}, 0
    for name, kind, shape in form:
        stop = start + nbytes_of([(name, kind, shape)])
        columns[name] = data[start:stop].view(kind).reshape(shape)
        start = stop
    return columns


def nbytes_of(form):
    return sum(prod(shape) * np.dtype(kind).itemsize for _, kind, shape in form)
