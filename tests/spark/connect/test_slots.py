"""Slots of a cluster behind Spark Connect, derived from its settings alone."""

from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.spark.connect.slots import DIVIDING, known_slots, workers_of

DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
STANDALONE = {"spark.master": "spark://a:7077", "spark.executor.cores": "2"} | {
    "spark.executor.instances": "9"  # has no effect there
}
SETTINGS = [
    ({"spark.master": "local[3]"}, 3),
    ({"spark.master": "local"}, 1),
    ({"spark.master": "local[ 3 , 4 ]"}, 3),
    ({"spark.master": "local[*]"}, 2),
    ({"spark.master": "local[*, 4]"} | DYNAMIC, 2),
    ({"spark.master": "local[4]", "spark.task.cpus": "2"} | DYNAMIC, 2),
    ({"spark.master": "local-cluster[2,3,1024]"}, 6),
    ({"spark.master": "yarn", "spark.executor.instances": "4", "spark.executor.cores": "2"}, 8),
    (STANDALONE | {"spark.cores.max": "6"}, 6),
    (STANDALONE | {"spark.cores.max": "7", "spark.task.cpus": "2"}, 3),
]


def session(settings, parts=2):
    """A session whose server splits a range into this many parts."""
    frame = SimpleNamespace(distinct=lambda: SimpleNamespace(count=lambda: parts))
    ranges = SimpleNamespace(selectExpr=lambda column: frame)
    return SimpleNamespace(conf=settings, range=lambda end: ranges)


@pytest.mark.parametrize(("settings", "slots"), SETTINGS)
def test_workers_are_the_slots_that_settings_tell(settings, slots):
    assert workers_of(session(settings), None) == slots
    assert workers_of(session(settings), 1) == 1
    with pytest.raises(ConfigError, match=f"workers must be at most {slots}, got {slots + 1}"):
        workers_of(session(settings), slots + 1)


@pytest.mark.parametrize("name", DIVIDING)
def test_slots_are_unknown_where_a_setting_says_how_ranges_are_divided(name):
    settings = {"spark.master": "local[*]", name: "1"}
    assert known_slots(session(settings, 1)) is None
    assert workers_of(session(settings, 1), 5) == 5


def test_a_standalone_cluster_that_is_asked_for_all_cores_is_unknown():
    assert known_slots(session(STANDALONE)) is None


@pytest.mark.parametrize("spelling", ["true", "True", " TRUE"])
def test_dynamic_allocation_is_refused_by_name(spelling):
    settings = {"spark.master": "yarn", **dict.fromkeys(DYNAMIC, spelling)}
    with pytest.raises(UnsupportedError, match="dynamicAllocation.enabled cannot work over Spark"):
        workers_of(session(settings), 2)


RDDS, FRAMES = "spark.python.worker.", "spark.sql.execution.pyspark.udf."


@pytest.mark.parametrize("ends", [RDDS, FRAMES])
@pytest.mark.parametrize("limit", [RDDS, FRAMES])
def test_workers_that_spark_would_end_as_idle_are_refused(ends, limit):
    settings = {"spark.master": "local[2]", f"{ends}killOnIdleTimeout": "true"}
    limited = settings | {f"{limit}idleTimeoutSeconds": "90"}
    with pytest.raises(ConfigError, match=r"udf\.killOnIdleTimeout must be false .* is 90, got"):
        workers_of(session(limited), 2)
    assert workers_of(session(limited | {f"{FRAMES}killOnIdleTimeout": "false"}), 2) == 2
    assert workers_of(session(settings | {f"{limit}idleTimeoutSeconds": "0"}), 2) == 2
