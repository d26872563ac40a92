"""The memory of Spark's JVMs."""

from types import SimpleNamespace

import psutil
from py4j.protocol import Py4JNetworkError

from sparkdl.spark.jobs import jvm_memory as module
from sparkdl.spark.jobs.jvm_memory import jvm_memory
from tests.support.waiting import until


def executors_of(memory):
    return [name for name in memory if name.startswith("JVM of executor ")]


def names_all(memory):
    """Returns the memory if it is known of the driver and of executors."""
    return memory if "driver's JVM" in memory and executors_of(memory) else None


def test_each_jvm_is_named_with_no_more_than_its_process_has(sc):
    sc.parallelize(range(8), 2).count()
    memory = until(lambda: names_all(jvm_memory(sc)))
    jvms = [each for each in psutil.Process().children() if each.name() == "java"]
    [driver] = (each for each in jvms if "SparkSubmit" in " ".join(each.cmdline()))
    assert 10e6 < memory["driver's JVM"] < 1.5 * driver.memory_info().rss
    assert all(10e6 < memory[name] < 2e9 for name in executors_of(memory))


def test_of_a_spark_that_has_been_stopped_nothing_is_known(monkeypatch):
    def executors(sc):
        raise Py4JNetworkError("Answer from Java side is empty")

    monkeypatch.setattr(module, "known_executors", executors)
    assert jvm_memory(SimpleNamespace()) == {}
