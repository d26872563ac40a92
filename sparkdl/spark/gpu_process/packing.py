"""Serializes what processes of one task exchange, as Spark serializes functions."""

import io
from collections import ChainMap

from pyspark import cloudpickle

from sparkdl.spark.jobs.shared_value import SharedValue


class Packer(cloudpickle.CloudPickler):
    """Pickles a SharedValue with its value: the other process has no broadcasts."""

    dispatch_table = ChainMap(
        {SharedValue: SharedValue.to_local}, cloudpickle.CloudPickler.dispatch_table
    )


def pack(value):
    """bytes"""
    file = io.BytesIO()
    Packer(file, 5).dump(value)
    return file.getbuffer()


def unpack(data):
    """Unpacks what a process of the same task has packed."""
    return cloudpickle.loads(data)
