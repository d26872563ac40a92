"""DataFrames that executors compute from splits, one partition per split."""

from functools import partial

import pyarrow
from pyspark.sql.types import StringType, StructField, StructType

from sparkdl.spark.gpu_process.dispatch import run_on_device
from sparkdl.spark.inference.predictions import numbers
from sparkdl.spark.records.data_frames import list_column
from sparkdl.spark.records.locality import split_frame, splits_in


def compute_frame(spark, splits, key, columns, compute, device, tally=None):
    """Returns a DataFrame of names and float arrays.

    Parameters
    ----------
    splits : list
    key : str
        The column of names.
    columns : sequence of str
        The columns of arrays.
    compute : function split -> iterator of (list of str (n), {column: float32 (n, numbers)})
        Runs on the executors, lazily.
    device : str
        Where to compute; as in TrainingMaster.
    tally : DeviceTally, optional
        Counts the devices that tasks compute on.
    """
    fields = StructType([StructField(key, StringType(), False), *map(numbers, columns)])
    each = partial(run_on_device, device, partial(tables, key, columns, compute), tally=tally)
    return split_frame(spark, splits).mapInArrow(each, fields)


def tables(key, columns, compute, splits):
    """Yields Arrow record batches of the given splits."""
    for split in splits_in(splits):
        for names, arrays in compute(split):
            values = [
                pyarrow.array(names),
                *(list_column(arrays[name]) for name in columns),
            ]
            yield pyarrow.RecordBatch.from_arrays(values, names=[key, *columns])
