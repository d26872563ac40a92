"""Task slots of a cluster behind Spark Connect, as far as its settings tell."""

import re

from sparkdl.errors import ConfigError
from sparkdl.spark.connect.sessions import unsupported
from sparkdl.spark.jobs.slots import (
    ENDS_IDLE,
    IDLE_LIMIT,
    are_ended,
    executors_asked_for,
    idle_error,
    is_true,
    parse_local_cluster,
)

LOCAL = re.compile(r"local(?:\[\s*(\d+|\*)\s*(?:,\s*\d+\s*)?\])?$")
DIVIDING = "spark.default.parallelism", "spark.sql.leafNodeDefaultParallelism"
# The settings of DataFrames, which are those of RDDs unless given; Spark 4.1 has both.
ENDS_IDLE_HERE = "spark.sql.execution.pyspark.udf.killOnIdleTimeout"
IDLE_LIMIT_HERE = "spark.sql.execution.pyspark.udf.idleTimeoutSeconds"


def workers_of(spark, wanted):
    """Returns the number of workers: as requested, or one per slot.

    Raises
    ------
    ConfigError
        If there are fewer slots: Spark's scheduler would fail, and end the server's SparkContext.
        If Spark ends Python processes that give nothing for long.
    UnsupportedError
        If the server uses dynamic allocation.
    """
    if is_dynamic(spark):
        raise unsupported(
            "spark.dynamicAllocation.enabled",
            "workers are a barrier stage, which Spark does not run with it; set it to false",
        )
    check_idle_processes(spark)
    known = known_slots(spark)
    if wanted is None:
        return known or count_cores(spark)
    if known is not None and wanted > known:
        raise ConfigError(
            f"workers must be at most {known}, got {wanted}: over Spark Connect they run all at "
            f"once, and the cluster has {known} slots; ask for fewer, or "
            "start the cluster with more slots to resume a fit"
        )
    return wanted


def is_dynamic(spark):
    """Returns whether the server allocates executors dynamically."""
    in_driver = LOCAL.match(spark.conf.get("spark.master", ""))
    return not in_driver and is_true(spark.conf.get("spark.dynamicAllocation.enabled", "false"))


def check_idle_processes(spark):
    """Raises ConfigError if Spark would end workers, which give nothing before the end of a fit."""
    ends = spark.conf.get(ENDS_IDLE_HERE, spark.conf.get(ENDS_IDLE, "false"))
    limit = spark.conf.get(IDLE_LIMIT_HERE, spark.conf.get(IDLE_LIMIT, "0"))
    if are_ended(ends, limit):
        raise idle_error(ENDS_IDLE_HERE, IDLE_LIMIT_HERE, limit, "set it to false")


def known_slots(spark):
    """Returns the number of tasks that run at once, or None if no setting tells."""
    master = spark.conf.get("spark.master", "")
    cores_of_task = int(spark.conf.get("spark.task.cpus", "1"))
    if match := LOCAL.match(master):
        cores = local_cores(spark, match[1])
        return cores and max(1, cores // cores_of_task)
    if local := parse_local_cluster(master):
        executors, cores = local
    else:
        cores = int(spark.conf.get("spark.executor.cores", "0"))
        executors = executors_asked_for(master, spark.conf.get)
    return executors * (cores // cores_of_task) or None


def local_cores(spark, threads):
    """Returns the number of cores of a server without executors, or None.

    `threads` is the number in brackets of its master, "*" for all cores, None for one.
    """
    if threads != "*":
        return int(threads or 1)
    if any(spark.conf.get(name, None) for name in DIVIDING):
        return None
    return count_cores(spark)


def count_cores(spark):
    """Returns the number of partitions into which Spark splits a range: by default one per core."""
    numbers = spark.range(1 << 16).selectExpr("spark_partition_id() AS task").distinct()
    return max(1, numbers.count())
