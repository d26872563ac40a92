"""Slots and executors: which ones were requested, and how long they are awaited."""

from types import SimpleNamespace

import pytest

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs import slots as module
from sparkdl.spark.jobs.slots import (
    check_launch,
    concurrent_tasks,
    decommissions,
    executors_share_host,
    executors_wanted,
    launch_obstacle,
    slots,
)


def context(master, **options):
    options = {f"spark.{name}": value for name, value in options.items()}
    return SimpleNamespace(master=master, _conf=options, applicationId="one")


@pytest.mark.parametrize("true", ["true", "True", "TRUE "])
def test_copies_of_slow_workers_are_refused_by_name(true):
    both = {"dynamicAllocation.enabled": true, "speculation": true}
    assert decommissions(context("yarn", **{"decommission.enabled": true}))
    with pytest.raises(ConfigError, match="spark.speculation must be false"):
        check_launch(context("yarn", **both))
    assert "spark.speculation is true" in launch_obstacle(context("yarn", **both))
    for name in both:
        check_launch(context("yarn", **{name: true}))
    check_launch(context("local[2]", **both))


ENABLED = "enabled", "application.enabled"
IDLE = "python.worker.idleTimeoutSeconds"
ENDS = {"python.worker.killOnIdleTimeout": "true"}


def test_workers_that_spark_would_end_as_idle_are_refused():
    ended = context("local[2]", **ENDS, **{IDLE: "90"})
    with pytest.raises(ConfigError, match="killOnIdleTimeout must be false .* is 90, got true"):
        check_launch(ended)
    assert "would end workers that train for" in launch_obstacle(ended)
    for never in ({}, {IDLE: "0"}, {IDLE: "0 s"}):
        assert launch_obstacle(context("local[2]", **ENDS, **never)) is None
    check_launch(context("local[2]", **{IDLE: "90"}))


def executor(is_excluded, profile=0):
    return SimpleNamespace(
        isExcluded=lambda: is_excluded, maxTasks=lambda: 4, resourceProfileId=lambda: profile
    )


@pytest.mark.parametrize(
    "settings, count",
    [({}, 12), *(({f"excludeOnFailure.{name}": "true"}, 8) for name in ENABLED)],
)
def test_executors_that_spark_excludes_have_no_slots(settings, count, monkeypatch):
    known = [executor(False), executor(True), executor(True, profile=1)]
    monkeypatch.setattr(module, "known_executors", lambda sc, only_active: known)
    profile = SimpleNamespace(id=lambda: 0)
    manager = SimpleNamespace(defaultResourceProfile=lambda: profile)
    jvm = SimpleNamespace(
        maxNumConcurrentTasks=lambda profile: 12, resourceProfileManager=lambda: manager
    )
    sc = context("yarn", **settings)
    sc._jsc = SimpleNamespace(sc=lambda: jvm)
    assert concurrent_tasks(sc) == count


WANTED = [
    (context("local-cluster[ 3 , 1, 512]"), 3),
    (context("yarn", **{"executor.instances": "4"}), 4),
    (context("yarn", **{"executor.instances": "4", "dynamicAllocation.enabled": "true"}), 0),
    (context("spark://a:7077", **{"cores.max": "8", "executor.cores": "2"}), 4),
    (context("spark://a:7077", **{"cores.max": "8"}), 0),
    (context("local[2]"), 0),
    (context("local", **{"executor.instances": "4"}), 0),
]


@pytest.mark.parametrize("sc, count", WANTED)
def test_executors_that_spark_was_asked_for(sc, count):
    assert executors_wanted(sc) == count


@pytest.mark.parametrize(
    "hosts, there, is_one",
    [
        (["10.0.0.1", "10.0.0.1:7001"], "10.0.0.1", True),
        (["10.0.0.2", "10.0.0.1:7001"], "10.0.0.2", False),
        (["[::1]", "[::1]:7001"], "[::1]", True),
    ],
)
def test_an_executor_whose_port_is_not_known_yet_has_its_host(hosts, there, is_one, monkeypatch):
    """Spark reports the port only after the executor's block manager has registered."""
    found = [
        SimpleNamespace(id=lambda n=n: str(n), hostPort=lambda host=host: host)
        for n, host in enumerate(hosts)
    ]
    monkeypatch.setattr(module, "known_executors", lambda sc, only_active: found)
    assert module.live_executors(TWO)[0] == ("0", there)
    assert executors_share_host(TWO) == is_one


# Context, (executors, slots) at each look, least number of slots, messages, resulting slots.
TWO = context("local-cluster[2,1,1024]")
STANDALONE = context("spark://a:7077")
WAITS = {
    "all there": (TWO, [(2, 2)], 1, [], 2),
    "all there, with fewer slots": (TWO, [(2, 2)], 3, [], 2),
    "one late": (
        TWO,
        [(1, 1)] * 3 + [(2, 2)],
        1,
        ["1 executor of 2 and 1 slot of at least 1 started in 2 s; waiting for more: "],
        2,
    ),
    "one never": (
        TWO,
        [(1, 1)],
        1,
        [
            "1 executor of 2 and 1 slot of at least 1 started in 2 s; waiting for more: ",
            "1 executor of 2 and 1 slot of at least 1 started in 4 s; continuing with these: ",
        ],
        1,
    ),
    "no workers": (
        STANDALONE,
        [(0, 0)],
        3,
        [
            "0 executors and 0 slots of at least 3 started in 2 s; waiting for more: ",
            "0 executors and 0 slots of at least 3 started in 4 s; continuing with these: ",
        ],
        1,
    ),
}


@pytest.fixture
def clock(monkeypatch):
    """A fake clock; its `looks` are the (executors, slots) of each second of a wait."""
    state = SimpleNamespace(second=0, looks=[])

    def look():
        return state.looks[min(state.second, len(state.looks) - 1)]

    def sleep(seconds):
        state.second += 1

    time = SimpleNamespace(monotonic=lambda: float(state.second), sleep=sleep)
    monkeypatch.setattr(module, "time", time)
    monkeypatch.setattr(module, "executors", lambda sc: look()[0])
    monkeypatch.setattr(module, "concurrent_tasks", lambda sc, resources: look()[1])
    monkeypatch.setattr(module, "EXECUTOR_TIMEOUT", 3.5)
    monkeypatch.setattr(module, "PATIENCE", 1.5)
    monkeypatch.setattr(module, "_gone_on_with", {})
    return state


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_for_executors_is_said(name, clock, caplog):
    sc, clock.looks, least, said, count = WAITS[name]
    assert slots(sc, least) == count
    assert caplog.messages == [begin + module.CURE for begin in said]


def test_nobody_waits_once_there_are_as_many_slots_as_workers(clock):
    clock.looks = [(1, 2)]
    assert slots(TWO, enough=2) == 2
    assert clock.second == 0
    assert slots(TWO, enough=3) == 2
    assert clock.second == 4


# For an application that continued with one executor of three: (executors, slots) at later
# looks, the least number of slots, and the seconds of the wait.
THREE = context("local-cluster[3,1,1024]")
LATER = {
    "none has come": ([(1, 1)], 1, 0),
    "one has come": ([(2, 2)], 1, 4),
    "all have come": ([(3, 3)], 1, 0),
    "it was lost for good": ([(0, 0)], 1, 4),
    "it was lost and another comes": ([(0, 0)] * 2 + [(1, 1)], 1, 2),
}


@pytest.mark.parametrize("name", LATER)
def test_a_wait_in_vain_is_not_repeated(name, clock):
    clock.looks = [(1, 1)]
    slots(THREE)
    assert clock.second == 4
    clock.second, (clock.looks, least, seconds) = 0, LATER[name]
    slots(THREE, least)
    assert clock.second == seconds
    clock.second, other = 0, context("local-cluster[3,1,1024]")
    other.applicationId = "two"
    clock.looks = [(1, 1)]
    slots(other)
    assert clock.second == 4
