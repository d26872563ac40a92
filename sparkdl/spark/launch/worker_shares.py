"""Distribution of blocks and validation batches to the workers of a barrier stage."""

from contextlib import closing, contextmanager

from sparkdl.data.scratch_file import ScratchFile
from sparkdl.data.stored_batches import StoredBatches
from sparkdl.data.stored_share import StoredShare
from sparkdl.errors import WorkerError
from sparkdl.spark.jobs.job import job
from sparkdl.spark.records.blocks import write_shuffle
from sparkdl.spark.records.records import pack_batch, unpack_batch
from sparkdl.training.workers.contribution import Failure


def deal_blocks(blocks, shares, team, validation=None):
    """Returns an RDD with one partition per task, to run a barrier stage on.

    Its items are (number, Batch) for the blocks of its workers, or a StoredShare per worker, and
    ((partition, position), Batch or Failure) for validation data, or StoredBatches per worker. Both
    are in one RDD because a barrier stage takes only one.

    Parameters
    ----------
    blocks : SparkBlocks
    shares : sequence of sequences of int
        The numbers of the blocks of each rank.
    team : Team
    validation : ValidationRecords, RDD of Batch and Failure, or None

    Raises
    ------
    WorkerError
        If blocks could not be brought to the workers; LostRecords if some are gone.
    """
    from sparkdl.spark.records.validation_records import (  # executors don't need this import
        ValidationRecords,
        rdd_of,
    )

    if blocks.launches > 1 and isinstance(validation, ValidationRecords):
        validation.locate()
    stored = blocks.shares(shares)
    if stored is None:
        items = blocks.pieces(frozenset(team.owners))
        with job(blocks.context, "blocks to workers", "handing blocks to workers"):
            return write_shuffle(deal_items(items, rdd_of(validation), team))
    items = [(share[0], own) for share, own in zip(shares, stored, strict=True) if share]
    if isinstance(validation, ValidationRecords):
        size = team.size
        items += [((rank,), validation.share(rank, size)) for rank in range(size)]
    elif validation is not None:
        return deal_items(blocks.context.parallelize(items, 1), validation, team)
    return split_by_task(blocks.context, items, team)


def deal_items(items, validation, team):
    """Returns an RDD of items and validation batches, partitioned by task."""
    if validation is not None:
        items = items.union(validation.mapPartitionsWithIndex(place_batches))
    return items.partitionBy(team.tasks, team.task)


def split_by_task(sc, items, team):
    """Returns an RDD of (key, value) items, each in the partition of its task."""
    tasks = [[] for _ in range(team.tasks)]
    for key, value in items:
        tasks[team.task(key)].append((key, value))
    return sc.parallelize(tasks, team.tasks).flatMap(list)


def place_batches(partition, batches):
    for position, batch in enumerate(batches):
        yield (partition, position), batch


@contextmanager
def split_items(items):
    """Splits the items of a worker into two iterators, (blocks, validation).

    The first gives (number, Batch) as they arrive. The second gives Batches, in the same order at
    each launch; it can be used once the first has ended.
    """
    with closing(ScratchFile("sparkdl-validation-")) as scratch:
        later = BatchSpool(scratch)
        yield later.after(items), iter(later)


class BatchSpool:
    """Validation batches spooled to a file until needed, or read where they are stored."""

    def __init__(self, scratch):
        self._scratch, self._places, self._stored, self._complete = scratch, {}, (), False

    def after(self, items):
        """Yields the blocks among the items; keeps everything else."""
        for key, item in items:
            if isinstance(item, Failure):
                raise item.error
            if isinstance(item, StoredShare):
                yield from item.blocks()
            elif isinstance(item, StoredBatches):
                self._stored = item
            elif isinstance(key, tuple):
                start = self._scratch.append(pack_batch(item))
                self._places[key] = start, self._scratch.nbytes - start
            else:
                yield key, item
        self._complete = True

    def __iter__(self):
        if not self._complete:
            raise WorkerError("batches for validation come last: take all blocks before")
        yield from self._stored
        for key in sorted(self._places):
            start, length = self._places[key]
            self._scratch.file.seek(start)
            yield unpack_batch(self._scratch.file.read(length))
