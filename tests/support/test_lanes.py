"""Distribution of the tests over processes: groups stay together, the longest go first."""

from itertools import chain
from types import SimpleNamespace

import pytest

from tests.support.lanes import (
    CLUSTER,
    FIRST,
    OF_FIXTURE,
    ROOT,
    SPARK,
    THEN,
    in_order,
    lane,
    may_join,
    needs_jvm,
    path_of,
)

PATHS = {
    "tests/cluster/test_jars.py": CLUSTER,
    "tests/spark/test_session.py": SPARK,
    "tests/ml/test_model.py": SPARK,
    "tests/end_to_end/test_digits.py": SPARK,
    "tests/spark/gpu_process/test_dealt_gpus.py": "tests/spark/gpu_process/test_dealt_gpus.py",
    "tests/test_cli.py": SPARK,
    "tests/support/test_lanes.py": "tests/support/test_lanes.py",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_file_is_in_the_lane_of_its_folder_or_of_what_its_tests_take(path):
    assert lane(path) == PATHS[path]


def test_lanes_come_first_then_long_files_and_the_order_within_stays():
    given = [f"{path}::test_{i}" for i in "ba" for path in reversed(PATHS)]
    found = [item.nodeid for item in in_order([SimpleNamespace(nodeid=name) for name in given])]
    of = {name: PATHS[name.partition("::")[0]] for name in given}
    first = [*FIRST, *THEN]
    lanes = [[name for name in given if of[name] == wanted] for wanted in first]
    assert found == [*chain(*lanes), *(name for name in given if of[name] not in first)]


def test_what_needs_yarn_is_the_first_of_its_lane():
    given = [("faults", "spark"), ("readme", "yarn"), ("sources", "spark"), ("submit", "yarn")]
    items = [
        SimpleNamespace(nodeid=f"tests/cluster/test_{name}.py::test_1", fixturenames=[fixture])
        for name, fixture in given
    ]
    found = [item.nodeid.split("_")[1].partition(".")[0] for item in in_order(items)]
    assert found == ["readme", "submit", "faults", "sources"]


def test_long_files_are_there():
    assert all((ROOT / path).is_file() for path in THEN)


def test_what_asks_for_spark_or_a_cluster_is_in_its_lane(request):
    strays = []
    for item in request.session.items:
        wanted = {OF_FIXTURE[name] for name in item.fixturenames if name in OF_FIXTURE}
        allowed = {CLUSTER} if CLUSTER in wanted else {CLUSTER, SPARK}
        if wanted and lane(path_of(item)) not in allowed:
            strays.append(item.nodeid)
    assert not strays


NEEDING = {
    ("tests/cluster/test_jars.py", ""): True,
    ("tests/spark/gpu_process/test_dispatch.py", ""): True,
    ("tests/test_cli.py", "spark"): True,
    ("tests/test_cli.py", "rng"): False,
    ("tests/nn/test_layers.py", ""): False,
}


@pytest.mark.parametrize("path, fixture", NEEDING)
def test_a_jvm_is_needed_in_some_folders_and_by_some_fixtures(path, fixture):
    item = SimpleNamespace(nodeid=f"{path}::test_1", fixturenames=[fixture])
    assert needs_jvm(item) == NEEDING[path, fixture]


CLUSTERS, SPARKS, NOTEBOOK, FAULTS, LAYERS = (
    SimpleNamespace(nodeid=f"tests/{path}.py::test_1")
    for path in (
        "cluster/test_hdfs",
        "ml/test_model",
        "test_notebook",
        "chaos/test_faults",
        "nn/test_losses",
    )
)


def test_groups_that_take_much_memory_do_not_run_at_a_time():
    assert may_join(SPARKS, [CLUSTERS, LAYERS]) and may_join(FAULTS, [SPARKS])
    assert not may_join(FAULTS, [SPARKS, CLUSTERS]), "a third one with JVMs"
    assert may_join(LAYERS, [SPARKS, CLUSTERS])
    assert not may_join(NOTEBOOK, [SPARKS]) and not may_join(SPARKS, [NOTEBOOK, LAYERS])
    assert may_join(NOTEBOOK, [CLUSTERS, LAYERS]) and may_join(NOTEBOOK, [])
