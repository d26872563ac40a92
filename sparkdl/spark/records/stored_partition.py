"""A partition's records in a folder of the executor that has read it: writing, reading, removing.

The folders are among Spark's files of the executor, and go with it at the latest.
"""

import json
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow
from pyspark import TaskContext

from sparkdl.data.record_store import is_complete, read_records, write_records
from sparkdl.data.records.label_facts import LabelFacts, facts_of
from sparkdl.error_messages import error_to_text
from sparkdl.errors import SparkdlError
from sparkdl.spark.jobs.executor_disks import local_disks
from sparkdl.spark.jobs.process_start import seconds_to_start
from sparkdl.spark.records.column_types import arrow_schema
from sparkdl.training.workers.contribution import failure_of, unwrap
from sparkdl.training.workers.frozen_modules import freeze_modules

TRIES = 10
# The fields of a StoredPartition.
COLUMNS = (
    "partition long, count long, nbytes long, folder string, seconds double, python double, "
    "columns string, labels string, error string"
)
ARROW = arrow_schema(COLUMNS)


class StoredPartition(NamedTuple):
    """Figures of a partition, the only data of it that the driver gets.

    Parameters
    ----------
    partition, count, nbytes : int
        Its number, its records, and the bytes of their arrays.
    folder : str
        On the executor.
    seconds, python : float
        Seconds of the task, and of its process's start before it.
    columns : str
        JSON of the names of its batches' columns; those of no records are [].
    labels : str
        Text of its LabelFacts.
    error : str or None
        JSON of the error if its records cannot be used.
    """

    partition: int
    count: int
    nbytes: int
    folder: str
    seconds: float
    python: float
    columns: str
    labels: str
    error: str | None = None


def store_batches(key, schema, partition, batches, write=write_records):
    """Writes the Batches before the first Failure; yields the StoredPartition.

    Parameters
    ----------
    key : str
        Of the data set, part of the path of all its partitions' folders.
    schema : Schema
        Of the records.
    write : function (folder, batches) -> (number of records, bytes)
    """
    python, began = seconds_to_start(), time.perf_counter()
    freeze_modules()
    folder = partition_folder(key, partition, TaskContext.get().taskAttemptId())
    count, nbytes, columns, facts, text = 0, 0, [], [LabelFacts()], None
    try:
        noted = note_labels(facts, schema, note_columns(columns, map(unwrap, batches)))
        count, nbytes = write(folder, noted)
    except SparkdlError as error:
        text = error_to_text(failure_of(error).error)
    seconds = time.perf_counter() - began
    names, labels = json.dumps(columns), facts[0].to_text()
    figures = partition, count, nbytes, folder, seconds, python, names, labels
    yield StoredPartition(*figures, text)


def note_columns(names, batches):
    """Yields the batches; adds the columns of the first one with records to the list `names`."""
    for batch in batches:
        if len(batch) and not names:
            names += sorted(batch.columns)
        yield batch


def note_labels(facts, schema, batches):
    """Yields the batches; adds their LabelFacts to the only ones of the list `facts`."""
    for batch in batches:
        facts[0] = facts[0].merge(facts_of(schema, [batch]))
        yield batch


def partition_folder(key, partition, attempt):
    """Returns the folder for a partition; partitions alternate between the executor's disks."""
    folders = folders_of([key])
    return str(folders[partition % len(folders)] / f"{partition}.{attempt}")


def as_table(stored):
    """Returns a StoredPartition as an Arrow record batch of one row."""
    return pyarrow.RecordBatch.from_pylist([stored._asdict()], schema=ARROW)


def stored_pieces(dealing, wanted, partition, rows):
    """Yields (block, its records) of a task, whose rows are its StoredPartitions.

    A `partition` without records may have no row.
    """
    freeze_modules()
    found = [(one.partition, one.folder) for one in (StoredPartition(*row) for row in rows)]
    for number, folder in found or [(partition, None)]:
        yield from dealing.pieces(number, read_records(folder) if folder else (), wanted)


def remove_folders(keys):
    """Removes data sets from the folders of this task's executor."""
    for folder in folders_of(keys):
        shutil.rmtree(folder, ignore_errors=True)
    return iter(())


def remove_for_good(keys):
    """Removes data sets as `remove_folders` does; no task can write them on this executor again.

    The Python process of a cancelled task may live on for two seconds
    (spark.python.task.killTimeout), and begin to write meanwhile. A file in place of the folder
    makes that an error.
    """
    for folder in folders_of(keys):
        for _ in range(TRIES):
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(FileExistsError):  # a folder that was written at the same time
                folder.touch(exist_ok=False)
                break
    return iter(())


def list_folders(keys):
    """Yields the complete folders of data sets on this task's executor.

    A cleanup of temporary files may have removed parts of others.
    """
    for folder in folders_of(keys):
        yield from map(str, filter(is_complete, folder.glob("*")))


def folders_of(keys):
    """Returns where data sets are on each disk of this task's executor."""
    return [Path(disk, f"sparkdl-{key}") for key in keys for disk in local_disks()]
