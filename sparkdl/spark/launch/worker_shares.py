"""Shares of the workers of a barrier stage: one partition each of blocks and validation batches."""

import tempfile
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter

from sparkdl.data.batches.dealing import assemble_block
from sparkdl.errors import WorkerError
from sparkdl.spark.records.records import pack_batch, unpack_batch
from sparkdl.training.workers.contribution import Failure

TASKS = 8  # for each worker, of the stage that hands out blocks


def deal_blocks(blocks, team, validation=None):
    """Returns an RDD with a partition for each task, to run a barrier stage on.

    Its items are (number, Batch) for the blocks of its workers, and ((partition, position), Batch
    or Failure) for what they evaluate: such a stage takes one RDD, so both go through one shuffle.

    Parameters
    ----------
    blocks : SparkBlocks
    team : Team
    validation : RDD of Batch and Failure, or None
    """
    # A block is a partition: several together to a task, else starting tasks would take longest.
    items = blocks.chosen(team.owners).coalesce(TASKS * team.size).mapPartitions(assemble_blocks)
    if validation is not None:
        items = items.union(validation.mapPartitionsWithIndex(place_batches))
    return items.partitionBy(team.tasks, team.task)


def assemble_blocks(pieces):
    """Yields (number, Batch) of each block, from those of its pieces, which come together."""
    for number, pieces_of_block in groupby(pieces, itemgetter(0)):
        yield number, assemble_block([piece for _, piece in pieces_of_block])


def place_batches(partition, batches):
    for position, batch in enumerate(batches):
        yield (partition, position), batch


@contextmanager
def split_items(items):
    """Splits the items of a worker into two iterators, (blocks, validation).

    The first gives (number, Batch) as they come. The second gives Batches, in the same order at
    each launch; it can be asked once the first has ended.
    """
    with tempfile.TemporaryFile(prefix="sparkdl-validation-") as file:
        later = BatchSpool(file)
        yield later.after(items), iter(later)


class BatchSpool:
    """Batches spooled to a file until they are wanted."""

    def __init__(self, file):
        self._file, self._places, self._complete = file, {}, False

    def after(self, items):
        """Yields the blocks among the items; what else comes is kept."""
        for key, item in items:
            if isinstance(item, Failure):
                raise item.error
            if isinstance(key, tuple):
                start = self._file.tell()
                self._file.write(pack_batch(item))
                self._places[key] = start, self._file.tell() - start
            else:
                yield key, item
        self._complete = True

    def __iter__(self):
        if not self._complete:
            raise WorkerError("batches for validation come last: take all blocks before")
        for key in sorted(self._places):
            start, length = self._places[key]
            self._file.seek(start)
            yield unpack_batch(self._file.read(length))
