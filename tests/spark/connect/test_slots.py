"""Slots of a cluster behind Spark Connect, by its settings alone."""

from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.spark.connect.slots import workers_of

DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
SETTINGS = [
    ({"spark.master": "local[3]"}, 3),
    ({"spark.master": "local[4]", "spark.task.cpus": "2"} | DYNAMIC, 2),
    ({"spark.master": "local-cluster[2,3,1024]"}, 6),
    ({"spark.master": "yarn", "spark.executor.instances": "4", "spark.executor.cores": "2"}, 8),
]


def session(settings):
    return SimpleNamespace(conf=settings)


@pytest.mark.parametrize(("settings", "slots"), SETTINGS)
def test_workers_are_the_slots_that_settings_tell(settings, slots):
    assert workers_of(session(settings), None) == slots
    assert workers_of(session(settings), 1) == 1
    with pytest.raises(ConfigError, match=f"workers must be at most {slots}, got {slots + 1}"):
        workers_of(session(settings), slots + 1)


def test_dynamic_allocation_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="dynamicAllocation.enabled cannot work over Spark"):
        workers_of(session({"spark.master": "yarn"} | DYNAMIC), 2)
