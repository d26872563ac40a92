"""The Spark side: the only part that imports pyspark.

The names below are loaded when they are first used: an executor, which imports modules of this
package, needs neither.
"""

import importlib

HOMES = {"SparkNetwork": "sparkdl.spark.network", "SparkWorkers": "sparkdl.spark.workers"}
__all__ = ["SparkNetwork", "SparkWorkers"]


def __getattr__(name):
    if name not in HOMES:
        raise AttributeError(f"module 'sparkdl.spark' has no attribute {name!r}")
    value = getattr(importlib.import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *HOMES})
