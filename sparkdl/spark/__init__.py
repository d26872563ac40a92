"""The Spark side: the only part that imports pyspark."""

from sparkdl.spark.network import SparkNetwork
from sparkdl.spark.workers import SparkWorkers

__all__ = ["SparkNetwork", "SparkWorkers"]
