"""Losses of the rows that can be used, and the reasons of the others."""

from collections import deque
from functools import partial

import numpy as np
import pyarrow
from pyspark import TaskContext

from sparkdl.data.batches.batch import Batch
from sparkdl.spark.inference.model_rows import text_of
from sparkdl.spark.inference.predictions import batch_losses, brief_errors, load_replica
from sparkdl.spark.inference.row_groups import RowGroup, compute_groups, try_rows
from sparkdl.spark.records.table_pieces import cut_tables, read_piece

IDS, LOSS = "ids of the records", "loss"


class LossRows:
    """A piece of an Arrow table, while the losses of its rows are computed.

    Parameters
    ----------
    table : RecordBatch or Table
    groups : sequence of RowGroup
        The rows that could be read.
    errors : {place: text}
        Of the others.
    """

    def __init__(self, table, groups, errors):
        self.table, self.errors = table, errors
        self.waiting = deque(group.places for group in groups)
        self.losses = np.full(table.num_rows, np.nan)

    def add(self, losses, errors):
        """Adds the losses of the next group, and its errors."""
        places = self.waiting.popleft()
        self.losses[places] = losses
        self.errors |= {int(places[i]): text for i, text in errors.items()}

    def columns(self, error):
        """Returns the column of losses and, if `error`, that of the reasons."""
        failed = np.zeros(self.table.num_rows, bool)
        failed[[*self.errors]] = True
        reasons = [self.errors.get(i) for i in range(len(failed))]
        more = [pyarrow.array(reasons, pyarrow.string())] if error else []
        return [pyarrow.array(self.losses, mask=failed), *more]


def extend_by_losses(schema, columns, kept, names, compute, tables):
    """Yields a partition's Arrow tables with the columns at `kept`, a loss and perhaps a reason.

    Parameters
    ----------
    schema : Schema
    columns : {column of a batch: column of the tables}
    kept : sequence of int
    names : list of str
        Of the new columns: the loss, and the reason if there are two.
    compute : function of an iterator of Batches
        Yields the losses (n,) of each, and {place: reason}.
    """
    pending = deque()

    def finished():
        while pending and not pending[0].waiting:
            rows = pending.popleft()
            new = rows.columns(error=len(names) > 1)
            old = [rows.table.schema.names[place] for place in kept]
            arrays = [*(rows.table.column(place) for place in kept), *new]
            yield pyarrow.RecordBatch.from_arrays(arrays, names=[*old, *names])

    results = compute(sound_batches(schema, columns, tables, pending))
    for losses, errors in brief_errors(results):
        yield from finished()  # pieces of which no row could be read
        pending[0].add(losses, errors)
        yield from finished()
    yield from finished()


def sound_batches(schema, columns, tables, pending):
    """Yields Batches of the rows that can be read, and appends the LossRows of each piece."""
    partition, start = TaskContext.get().partitionId(), 0

    def read(piece, start, first, n):
        batch = read_piece(schema, columns, partition, piece.slice(first, n), start + first)
        return batch.columns | {IDS: batch.ids}

    for piece in cut_tables(schema, columns, tables):
        groups, errors = try_rows(partial(read, piece, start), piece.num_rows)
        texts = {
            i: text_of(error).removeprefix(f"partition {partition}, record {start + i}: ")
            for i, error in errors.items()
        }
        start += piece.num_rows
        pending.append(LossRows(piece, groups, texts))
        yield from map(batch_of, groups)


def batch_of(group):
    """Returns the Batch of a RowGroup of columns and ids."""
    columns = dict(group.arrays)
    ids = columns.pop(IDS)
    return Batch(columns=columns, ids=ids)


def losses_and_reasons(model, transform, batches):
    """Yields the losses (n,) of the records of each Batch, and {place: reason} of those that fail.

    Losses are float64, and nan where a record fails.
    """
    replica = load_replica(model)

    def run(arrays):
        losses = batch_losses(replica, transform, batch_of(RowGroup(None, arrays)))
        return {LOSS: losses}

    for batch in batches:
        whole = RowGroup(np.arange(len(batch)), batch.columns | {IDS: batch.ids})
        groups, errors = compute_groups(run, whole)
        losses = np.full(len(batch), np.nan)
        for group in groups:
            losses[group.places] = group.arrays[LOSS]
        yield losses, {i: text_of(error) for i, error in errors.items()}
