"""Slots and executors: which were asked for, and how they are waited for."""

from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs import slots as module
from sparkdl.spark.jobs.slots import check_launch, executors_wanted, launch_obstacle, slots


def context(master, **options):
    options = {f"spark.{name}": value for name, value in options.items()}
    return SimpleNamespace(master=master, _conf=options)


def test_copies_of_slow_workers_are_refused_by_name():
    both = {"dynamicAllocation.enabled": "true", "speculation": "true"}
    with pytest.raises(ConfigError, match="spark.speculation must be false"):
        check_launch(context("yarn", **both))
    assert "spark.speculation is true" in launch_obstacle(context("yarn", **both))
    for name in both:
        check_launch(context("yarn", **{name: "true"}))
    check_launch(context("local[2]", **both))


WANTED = [
    (context("local-cluster[ 3 , 1, 512]"), 3),
    (context("yarn", **{"executor.instances": "4"}), 4),
    (context("yarn", **{"executor.instances": "4", "dynamicAllocation.enabled": "true"}), 0),
    (context("spark://a:7077", **{"cores.max": "8", "executor.cores": "2"}), 4),
    (context("spark://a:7077", **{"cores.max": "8"}), 0),
    (context("local[2]"), 0),
]


@pytest.mark.parametrize("sc, count", WANTED)
def test_executors_that_spark_was_asked_for(sc, count):
    assert executors_wanted(sc) == count


# Executors and slots that have come at each look, the least that are wanted, what is said, slots.
TWO = context("local-cluster[2,1,1024]")
STANDALONE = context("spark://a:7077")
WAITS = {
    "all there": (TWO, [(2, 2)], 1, [], 2),
    "one late": (
        TWO,
        [(1, 1)] * 3 + [(2, 2)],
        1,
        ["1 executors of 2 and 1 slots of at least 1 have come in 2 s; waiting for more: "],
        2,
    ),
    "one never": (
        TWO,
        [(1, 1)],
        1,
        [
            "1 executors of 2 and 1 slots of at least 1 have come in 2 s; waiting for more: ",
            "1 executors of 2 and 1 slots of at least 1 have come in 4 s; going on with these: ",
        ],
        1,
    ),
    "no workers": (
        STANDALONE,
        [(0, 0)],
        3,
        [
            "0 executors and 0 slots of at least 3 have come in 2 s; waiting for more: ",
            "0 executors and 0 slots of at least 3 have come in 4 s; going on with these: ",
        ],
        1,
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_for_executors_is_said(name, monkeypatch, caplog):
    sc, looks, least, said, count = WAITS[name]
    second = [0.0]

    def look(sc):
        return looks[min(int(second[0]), len(looks) - 1)]

    def sleep(seconds):
        second[0] += 1.0

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: second[0], sleep=sleep))
    monkeypatch.setattr(module, "executors", lambda sc: look(sc)[0])
    monkeypatch.setattr(module, "concurrent_tasks", lambda sc, resources: look(sc)[1])
    monkeypatch.setattr(module, "EXECUTOR_TIMEOUT", 3.5)
    monkeypatch.setattr(module, "PATIENCE", 1.5)
    assert slots(sc, least) == count
    assert caplog.messages == [begin + module.CURE for begin in said]
