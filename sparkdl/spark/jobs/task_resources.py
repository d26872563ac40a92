"""Executor resources of training tasks, where they differ from the session's."""

import os
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.resource import ResourceProfile

from sparkdl.errors import ConfigError, require_kind
from sparkdl.spark.jobs.slots import option

THREADS = "OMP_NUM_THREADS"


def known_profile(sc, resources):
    """Returns a ResourceProfile registered with this cluster, or None if given None.

    Raises
    ------
    ConfigError
        If it is no ResourceProfile, or the cluster does not accept it.
    """
    if resources is None:
        return None
    require_kind("resources", resources, ResourceProfile, "a pyspark.resource.ResourceProfile")
    probe = sc.emptyRDD()
    try:
        probe.withResources(resources)
    except Py4JError as error:
        why = str(getattr(error, "java_exception", error)).splitlines()[0]
        raise ConfigError(f"resources must be what this cluster can deal to tasks: {why}") from None
    return probe.getResourceProfile()


def with_resources(rdd, resources):
    """Returns an RDD whose tasks use the resources of a profile, or of the session if None."""
    return rdd if resources is None else rdd.withResources(resources)


def threads_of_a_task(sc, resources):
    """Returns the number of compute threads of a task if a profile gives its cores, else None.

    None leaves it to the executor: spark.task.cpus, or its environment.
    """
    if resources is None or option(sc, f"spark.executorEnv.{THREADS}") is not None:
        return None
    cores = resources.taskResources.get("cpus")
    return None if cores is None else max(1, int(cores.amount))


@contextmanager
def computing_with(threads):
    """Sets the number of compute threads of this process and its children; None leaves it."""
    before = os.environ.get(THREADS)
    try:
        if threads is not None:
            os.environ[THREADS] = str(threads)
        yield
    finally:
        if threads is not None and before is None:
            del os.environ[THREADS]
        elif before is not None:
            os.environ[THREADS] = before
