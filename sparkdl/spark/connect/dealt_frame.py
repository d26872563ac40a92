"""Distribution of packed records to the partitions of the workers that they are for.

Spark assigns a row to a partition by the hash of its key, so a worker's key is a number whose hash
gives its partition.
"""

from functools import partial
from itertools import chain

import pyarrow

from sparkdl.spark.connect.packed_frame import (
    ARROW,
    COLUMNS,
    as_table,
    batch_of,
    packed_row,
    rows_of,
)

TRIES = 64  # numbers tried per worker: the probability of missing one is e^-64
KEYED_COLUMNS = f"key long, {COLUMNS}"
_keys = {}  # {number of tasks: their keys}; Spark's hash is the same in all sessions


def deal_frame(spark, dealing, packed, validation, team):
    """Returns a DataFrame with a partition for each worker of a Team.

    Parameters
    ----------
    dealing : Dealing
    packed, validation : PackedFrame; the second may be None
    """
    keys = keys_of_tasks(spark, team.size)
    cut = partial(deal_pieces, dealing, team, keys)
    frame = packed.frame.mapInArrow(cut, KEYED_COLUMNS)
    if validation is not None:
        frame = frame.union(
            validation.frame.mapInArrow(partial(deal_batches, team, keys), KEYED_COLUMNS)
        )
    return frame.repartition(team.size, "key")


def keys_of_tasks(spark, size):
    """Returns for each task a key whose rows `repartition` assigns to it."""
    if size not in _keys:
        numbers = spark.range(0, TRIES * size, 1, 1)
        rows = numbers.selectExpr("id", f"pmod(hash(id), {size}) AS task").collect()
        found = {task: key for key, task in reversed(rows)}
        _keys[size] = [found[task] for task in range(size)]
    return _keys[size]


def deal_pieces(dealing, team, keys, tables):
    """Yields the pieces of blocks from a partition's records."""
    for partition, rows in partitions_of(rows_of(tables)):
        batches = map(batch_of, rows)
        for number, piece in dealing.pieces(partition, batches):
            yield keyed(keys[team.rank(number)], packed_row(partition, 0, piece, number))


def partitions_of(rows):
    """Yields (partition, iterator of its rows); a task has the rows of at most one."""
    for row in rows:
        yield row["partition"], chain([row], rows)


def deal_batches(team, keys, tables):
    """Yields the rows of validation data."""
    for row in rows_of(tables):
        yield keyed(keys[team.rank((row["partition"], row["position"]))], row)


def keyed(key, row):
    table = as_table(row)
    column = pyarrow.array([key], pyarrow.int64())
    return pyarrow.RecordBatch.from_arrays([column, *table.columns], names=["key", *ARROW.names])


def items_of(tables):
    """Yields the items of a worker, as `split_items` takes them."""
    for row in rows_of(tables):
        key = row["number"]
        yield (row["partition"], row["position"]) if key is None else key, batch_of(row)
