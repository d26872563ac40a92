"""Examination of a cluster for anything that prevents training."""

import time
from contextlib import contextmanager
from operator import itemgetter

from py4j.protocol import Py4JError
from pyspark import SparkContext, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sparkdl.errors import UnsupportedError
from sparkdl.spark.cluster_check import connections, process_facts
from sparkdl.spark.cluster_check.checks import SAME_PYTHON, find_problems
from sparkdl.spark.cluster_check.diagnosis import Diagnosis
from sparkdl.spark.jobs.job import describe_jobs, message, reason, watch
from sparkdl.spark.jobs.slots import (
    concurrent_tasks,
    dynamic,
    executor_locations,
    gpus_of_a_task,
    slots,
)
from sparkdl.spark.records.locality import parallelize_at

MOST_TASKS = 256  # most tasks that connect to each other
EXAMINED, CONNECT = "the cluster is examined", "executors connect to each other"


def doctor(spark: SparkSession | SparkContext) -> Diagnosis:
    """Returns a Diagnosis of a cluster: what each executor has, and what to fix.

    It runs two small jobs, one of them a barrier stage. Executors need no sparkdl for them, so it
    also reports where sparkdl is missing.

    Parameters
    ----------
    spark : SparkSession or SparkContext
    """
    sc = spark.sparkContext if isinstance(spark, SparkSession) else spark
    slots(sc)  # waits for requested executors
    driver = process_facts.process_facts("driver")
    try:
        with describe_jobs(sc, EXAMINED), watch(sc, EXAMINED):
            executors = ask_executors(sc)
    except UnsupportedError as error:
        return Diagnosis(driver, [], [str(error)])
    except (Py4JError, PySparkException) as error:
        problem = f"no Python runs on the executors: {reason(message(error))}; {SAME_PYTHON}"
        return Diagnosis(driver, [], [problem])
    return Diagnosis(driver, executors, [*find_problems(driver, executors), *ask_connections(sc)])


def ask_executors(sc):
    """Returns the facts of each executor."""
    names = executor_locations(sc)
    each = parallelize_at(sc, names, [[name] for name in names])
    with by_value(process_facts):
        began = time.time()
        found = each.map(process_facts.process_facts).collect()
        ended = time.time()
    amount = gpus_of_a_task(sc)
    facts = [about_executor(facts, began, ended, amount) for facts in found]
    return sorted(facts, key=itemgetter("number"))


def about_executor(facts, began, ended, gpus_of_a_task):
    """Returns the facts with those only the driver knows: its name, and the error of its clock."""
    late, early = max(0.0, facts["clock"] - ended), min(0.0, facts["clock"] - began)
    number = facts["name"].rpartition("_")[2]  # "driver" in local mode
    return facts | {
        "name": f"executor {number}",
        "number": int(number) if number.isdigit() else 0,
        "clock_error": late or early,
        "gpus_of_a_task": gpus_of_a_task,
    }


def ask_connections(sc):
    """Returns a sentence for each connection that fails, or why none was tried."""
    if dynamic(sc):
        return [
            "connections between executors were not tried: Spark runs no barrier stage with "
            "dynamic allocation; to try them, set spark.dynamicAllocation.enabled=false"
        ]
    count = min(concurrent_tasks(sc), MOST_TASKS)
    rdd = sc.parallelize(range(count), count).barrier()
    try:
        with by_value(connections), describe_jobs(sc, CONNECT), watch(sc, CONNECT, is_one=True):
            failed = rdd.mapPartitions(connections.connect_tasks).collect()
    except UnsupportedError as error:
        return [f"connections between executors could not be tried: {error}"]
    except (Py4JError, PySparkException) as error:
        return [f"connections between executors could not be tried: {reason(message(error))}"]
    cure = "open the ports between executors, or train with aggregation='driver'"
    return [f"{sentence}; {cure}" for sentence in failed]


@contextmanager
def by_value(module):
    """Pickles the functions of a module by value, as executors may lack sparkdl."""
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)
