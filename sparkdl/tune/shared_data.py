"""The records of a search, read once for all its trials."""

from itertools import groupby

from pyspark import RDD

from sparkdl.data.batches.batch import POSITION_BITS, Batch
from sparkdl.data.batches.record_order import sort_records
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.records.label_facts import EMPTY, check_labels, facts_of
from sparkdl.data.source import check_batches
from sparkdl.errors import NoRecords, NothingToEvaluate
from sparkdl.spark.inference.predictions import sound
from sparkdl.spark.jobs.job import job
from sparkdl.spark.records.row_order import is_in_order
from sparkdl.training.inputs.schema import schema_of


def read_records(sc, records, conf, purpose):
    """Returns all records as one Batch, checked on the executors that read them.

    Data in the driver's memory is checked there, as are labels, for all trials. Each executor
    receives the records once, whatever the number of trials, as a local fit goes through all of
    them many times.

    Parameters
    ----------
    records : SparkRecords
    conf : NetworkConf
        Of any trial; all take the same records.
    purpose : str
        "train on" or "evaluate on".
    """
    schema = schema_of(conf, transform=records.transform)
    data = records.data
    if isinstance(data, Arrays):
        batches = [b for split in data.splits() for b in check_batches(data.read, split, schema)]
    else:
        with job(sc, "records of all trials", f"reading the data to {purpose}"):
            batches = list(sound(records.batches(sc, schema).collect()))
    if not sum(map(len, batches)):
        error = NoRecords if purpose == "train on" else NothingToEvaluate
        raise error(f"there are no records to {purpose}: {EMPTY}")
    if purpose == "train on":
        check_labels(schema, [facts_of(schema, batches)])
    if isinstance(data, RDD) and not is_in_order(data):
        batches = sort_partitions(batches)
    return Batch.concat(batches)


def sort_partitions(batches):
    """Yields the batches' records in an order that does not depend on that of their arrival."""
    for _, own in groupby(filter(len, batches), partition_of):
        yield from sort_records(list(own))


def partition_of(batch):
    """Returns the number of the partition that a Batch with records is from."""
    return int(batch.ids[0]) >> POSITION_BITS
