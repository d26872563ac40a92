"""Exchange of minibatch descriptions between workers that train on one minibatch together."""

import json
from math import prod
from typing import NamedTuple

import numpy as np

from sparkdl.nn.execution.batch_tensors import IDS
from sparkdl.nn.inputs.columns import columns_of


class Minibatch(NamedTuple):
    """Description of a worker's minibatch, known to all workers.

    Parameters
    ----------
    form : list of (column, type, shape)
        Of all its columns, wherever they are stored; the first one has an entry for each example.
    share : float
        As GradientStep.share.
    begins : bool
        Whether recurrent layers start a new sequence with it rather than continue.
    """

    form: list
    share: float
    begins: bool

    @property
    def examples(self):
        return self.form[0][2][0]


class MinibatchExchange:
    """Base class of exchanges that distribute workers' minibatches.

    Parameters
    ----------
    worker : Worker
    """

    def __init__(self, worker):
        self.worker = worker
        self._states = None  # of the last step; all chunks of a minibatch share one object

    def _columns_of(self, step):
        """Returns {column: array} of a step, with the ids last."""
        if step is None:
            return {}
        columns = columns_of(self.worker.conf, step.batch) | {IDS: step.batch.ids}
        return {name: np.ascontiguousarray(column) for name, column in columns.items()}

    def _meet(self, step, network):
        """Tells all workers about this worker's minibatch, or that it has none.

        Parameters
        ----------
        step : GradientStep or None
        network : Group
            Of the workers that hold a network with this one; their ranks are consecutive.

        Returns
        -------
        own : {column: array}
            Of this worker's minibatch.
        here : list of Minibatch
            Of the network's workers; None for a worker without one.
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
        """Returns the Minibatch of each worker, None for a worker without one."""
        minibatch = None
        if step is not None:
            form = [[name, column.dtype.str, column.shape] for name, column in own.items()]
            minibatch = Minibatch(form, step.share, step.states is not self._states)
            self._states = step.states
        gathered = self.worker.group.all_gather_bytes(json.dumps(minibatch).encode())
        fields = [json.loads(bytes(text)) for text in gathered]
        return [None if one is None else Minibatch(*one) for one in fields]


def pack(columns):
    """Returns the concatenated bytes of arrays."""
    data = [column.reshape(-1).view(np.uint8) for column in columns]
    return np.concatenate(data) if data else np.empty(0, np.uint8)


def unpack(form, data):
    """Returns {column: array} from the bytes written by `pack`, given [(column, type, shape)]."""
    columns, start = {}, 0
    for name, kind, shape in form:
        stop = start + nbytes_of([(name, kind, shape)])
        columns[name] = data[start:stop].view(kind).reshape(shape)
        start = stop
    return columns


def nbytes_of(form):
    return sum(prod(shape) * np.dtype(kind).itemsize for _, kind, shape in form)
