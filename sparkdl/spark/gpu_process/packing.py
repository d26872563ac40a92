"""Serialization between the processes of a task, with Spark's cloudpickle."""

import io
from collections import ChainMap

from pyspark import cloudpickle

from sparkdl.spark.jobs.shared_value import SharedValue


class Packer(cloudpickle.CloudPickler):
    """Pickles a SharedValue together with its value: the other process has no broadcasts."""

    dispatch_table = ChainMap(
        {SharedValue: SharedValue.to_local}, cloudpickle.CloudPickler.dispatch_table
    )


def pack(value):
    """Returns a value as bytes."""
    file = io.BytesIO()
    Packer(file, 5).dump(value)
    return file.getvalue()


def unpack(data):
    """Returns the value packed by a process of the same task."""
    return cloudpickle.loads(data)
