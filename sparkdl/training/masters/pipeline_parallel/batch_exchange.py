"""Distribution of minibatch columns to the pipeline stages that need them."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.nn.execution.batch_tensors import IDS
from sparkdl.nn.inputs.columns import WEIGHTS, label_mask_of, mask_of, weights_of_labels
from sparkdl.training.masters.minibatch_exchange import (
    Minibatch,
    MinibatchExchange,
    nbytes_of,
    pack,
    unpack,
)

TAG = 1  # of messages with columns


class Microbatch(NamedTuple):
    """A slice of the rows of a worker's minibatch.

    Parameters
    ----------
    minibatch : Minibatch
    place : (int, int)
        The worker's rank, and the number of the slice.
    shapes : ((column, shape), ...)
        Of all its columns.
    columns : callable
        Waits for the columns that this stage needs; returns {column: array (rows, ...)}.
    """

    minibatch: Minibatch
    place: tuple[int, int]
    shapes: tuple
    columns: Callable


class BatchExchange(MinibatchExchange):
    """Sends the columns of minibatches to the stages that need them.

    Parameters
    ----------
    worker : Worker
    pipe : Group
        The workers of one pipeline, by stage.
    stages : list of Stage
    microbatches : int
        Number of microbatches per minibatch.
    """

    def __init__(self, worker, pipe, stages, microbatches):
        super().__init__(worker)
        self.pipe, self.stages, self.microbatches = pipe, stages, microbatches

    def exchange(self, step):
        """Sends this worker's minibatch, or that it has none, and receives those of others.

        Parameters
        ----------
        step : GradientStep or None

        Returns
        -------
        microbatches : list of Microbatch
            Of all workers of the pipeline, in the order of ranks.
        examples : (int, int)
            Of the pipeline, and of all pipelines.
        pending : list of Pending
            Wait for these before changing the batch.
        """
        own, here, counts = self._meet(step, self.pipe)
        rank = self.pipe.rank
        pending = [self._send(own, to) for to in range(self.pipe.size) if to != rank and own]
        found = []
        for source, minibatch in enumerate(here):
            if minibatch is not None:
                columns = (lambda: own) if source == rank else self._receive(minibatch, source)
                found += cut_minibatch(minibatch, source, columns, self.microbatches)
        return found, counts, pending

    def _send(self, own, to):
        names = columns_for(self.worker.conf, self.stages, to, own)
        return self.pipe.start_send(pack([own[name] for name in names]), to, TAG)

    def _receive(self, minibatch, source):
        """Returns a function that waits for the columns of a worker and returns {column: array}."""
        needed = columns_for(
            self.worker.conf, self.stages, self.pipe.rank, [name for name, *_ in minibatch.form]
        )
        form = [column for column in minibatch.form if column[0] in needed]
        data = np.empty(nbytes_of(form), np.uint8)
        pending = self.pipe.start_receive(data, source, TAG)
        columns = unpack(form, data)

        def received():
            pending.wait()
            return columns

        return received


def columns_for(conf, stages, number, present):
    """Returns the present columns that a stage needs, in their order."""
    needed = {IDS, WEIGHTS}
    if number == 0:
        needed |= {*conf.feature_columns, *map(mask_of, conf.feature_columns)}
    labels = stages[number].label_columns
    needed |= {*labels, *map(label_mask_of, labels)}
    needed |= {name for column, name in weights_of_labels(conf).items() if column in labels}
    return [name for name in present if name in needed]


def cut_minibatch(minibatch, source, columns, count):
    """Yields the Microbatches of a minibatch: up to `count`, none of them empty."""
    edges = cuts(minibatch.examples, min(count, minibatch.examples))
    for number, (start, stop) in enumerate(pairwise(edges)):
        sizes = ((n, (stop - start, *shape[1:])) for n, _, shape in minibatch.form if n != IDS)
        rows = rows_of(columns, slice(start, stop))
        yield Microbatch(minibatch, (source, number), tuple(sizes), rows)


def rows_of(columns, rows):
    """Returns a function that gives these rows of the result of `columns`."""
    return lambda: {name: column[rows] for name, column in columns().items()}
