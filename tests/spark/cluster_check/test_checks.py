"""Each check finds its problem, names the cure, and reports nothing on a sound cluster."""

import pytest

from sparkdl.spark.cluster_check.checks import CHECKS, find_problems
from sparkdl.spark.cluster_check.diagnosis import COLUMNS, Diagnosis
from sparkdl.spark.cluster_check.process_facts import process_facts

SOUND = {
    "name": "executor 0",
    "host": "node-1",
    "python": "3.11.7",
    "executable": "/usr/bin/python3",
    "packages": {
        "sparkdl": "0.1.0",
        "pyspark": "4.3.0",
        "numpy": "2.4.6",
        "pyarrow": "22.0",
        "pandas": "2.3",
        "onednn-cpu-gomp": "2023.2.0",
    },
    "library": None,
    "features": ["avx2", "avx512f"],
    "cores": 2,
    "threads": "1",
    "free_memory": 4 * 2**30,
    "free_disk": 50 * 2**30,
    "gpus": 0,
    "clock_error": 0.0,
    "gpus_of_a_task": 0.0,
}


def packages(**others):
    return {"packages": SOUND["packages"] | others}


ROWS = [  # check, what the executor reports, part of the message
    ("check_pythons", {"python": "3.9.2"}, "executor 1 has Python 3.9.2, the driver 3.11.7; let"),
    ("check_packages", packages(sparkdl=None), "sparkdl is missing on executor 1"),
    ("check_packages", packages(numpy=None), "numpy is missing on executor 1"),
    (
        "check_packages",
        packages(sparkdl="not importable: No module named 'yaml'"),
        "sparkdl is not importable: No module named 'yaml' on executor 1",
    ),
    (
        "check_versions",
        packages(numpy="2.1.0"),
        "numpy is 2.1.0 on executor 1, 2.4.6 on the driver",
    ),
    (
        "check_library",
        {"library": "no AVX2"},
        "computes without oneDNN, many times slower: no AVX2",
    ),
    ("check_features", {"features": ["avx2"]}, "different processors (avx2 and avx2+avx512f)"),
    ("check_memory", {"free_memory": 2**28}, "executor 1 has 0.2 GB of memory left"),
    ("check_disk", {"free_disk": 2**29}, "executor 1 has 0.5 GB of disk left"),
    ("check_clocks", {"clock_error": -61.0}, "the clock of node-1 is -61 s off the driver's"),
    ("check_gpus", {"gpus": 2}, "executor 1 has 2 GPUs and Spark deals out none"),
]


@pytest.mark.parametrize(
    "check, facts, sentence", ROWS, ids=[f"{row[0]}: {row[2]}" for row in ROWS]
)
def test_a_check_finds_its_problem_alone(check, facts, sentence):
    other = SOUND | {"name": "executor 1"} | facts
    [found] = find_problems(SOUND, [SOUND, other])
    assert sentence in found and ";" in found
    assert not find_problems(SOUND, [SOUND, SOUND | {"name": "executor 1"}])


def test_each_check_has_a_row():
    assert {check.__name__ for check in CHECKS} == {name for name, *_ in ROWS}


def test_facts_that_nobody_tells_are_no_problem():
    assert not find_problems(SOUND, [SOUND | {"free_memory": None}])


def test_this_process_has_all_facts():
    facts = process_facts("driver")
    assert set(SOUND) - set(facts) == {"clock_error", "gpus_of_a_task"}
    assert facts["packages"]["sparkdl"] and facts["library"] is None
    assert facts["free_memory"] > 0 and facts["free_disk"] > 0


def test_a_diagnosis_is_a_table_with_problems_below():
    text = str(Diagnosis(SOUND | {"name": "driver"}, [SOUND], ["a disk is full; empty it"]))
    head, driver, executor, *_ = text.splitlines()
    assert head.split() == [*filter(None, COLUMNS)]
    assert driver.split()[:3] == ["driver", "node-1", "3.11.7"]
    assert executor.index("node-1") == driver.index("node-1") == head.index("host")
    assert text.endswith("1. a disk is full; empty it")
    assert str(Diagnosis(SOUND, [SOUND], [])).endswith("no problems were found")
