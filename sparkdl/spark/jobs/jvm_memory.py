"""Memory of Spark's JVMs, as reported to the driver."""

import logging

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.spark.jobs.slots import known_executors, value_of

log = logging.getLogger(__name__)
PARTS = "JVMHeapMemory", "JVMOffHeapMemory"
MOST = 64  # executors queried: each takes several calls of the JVM


def jvm_memory(sc):
    """Returns the peak memory of each JVM in bytes, on and off the heap: {name: bytes}.

    Executors report every ten seconds (`spark.executor.heartbeatInterval`): those that have not
    reported yet are left out, as are those beyond MOST.
    """
    try:
        found = {name_of(one): memory_of(one) for one in known_executors(sc)[: MOST + 1]}
    except (Py4JError, PySparkException, AttributeError) as error:  # Spark has been stopped
        log.debug("the memory of JVMs is not known: %s", error)
        return {}
    return {name: memory for name, memory in found.items() if memory}


def name_of(executor):
    return "driver's JVM" if executor.id() == "driver" else f"JVM of executor {executor.id()}"


def memory_of(executor):
    metrics = value_of(executor.peakMemoryMetrics())
    return 0 if metrics is None else sum(metrics.getMetricValue(part) for part in PARTS)
