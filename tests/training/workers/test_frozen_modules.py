"""The garbage collection after each task of pyspark's daemon skips our modules."""

import gc
import subprocess
import sys
from functools import partial

from sparkdl.spark.records.records import read_rows
from sparkdl.training.inputs.schema import schema_of
from tests.spark.networks import plain

ONCE = """
import gc, sys
from sparkdl.training.workers.frozen_modules import freeze_modules
freeze_modules()
first = gc.get_freeze_count()
kept = [[n] for n in range(500)]
freeze_modules()
assert gc.get_freeze_count() == first, "frozen again without an import"
import wave
freeze_modules()
assert gc.get_freeze_count() >= first + 500
"""


def test_they_are_frozen_once_after_each_import():
    subprocess.run([sys.executable, "-c", ONCE], check=True)


def counts(schema, partition, rows):
    """Yields a task process's numbers of objects: those to be collected, and the frozen ones."""
    list(read_rows(schema, {}, None, partition, rows))
    gc.collect()
    yield len(gc.get_objects()), gc.get_freeze_count()


def test_a_process_that_reads_has_few_objects_left_to_collect(sc):
    rows = sc.parallelize([([0.0] * 6, 1)] * 4, 2)
    found = rows.mapPartitionsWithIndex(partial(counts, schema_of(plain()))).collect()
    assert all(left < frozen / 10 for left, frozen in found)
