"""Distribution of blocks and validation batches to the workers of a barrier stage."""

from sparkdl.spark.jobs.job import job
from sparkdl.spark.records.blocks import write_shuffle


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
