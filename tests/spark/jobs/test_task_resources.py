"""Resource profiles of training tasks: what they change and what they keep."""

import os
from types import SimpleNamespace

import pytest
from pyspark.resource import (
    ExecutorResourceRequests,
    ResourceProfileBuilder,
    TaskResourceRequests,
)

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.masters import AllReduceSGD, ParameterAveraging
from sparkdl.spark import SparkNetwork
from sparkdl.spark.jobs import waiting
from sparkdl.spark.jobs.slots import gpus_of_a_task
from sparkdl.spark.jobs.task_resources import computing_with, threads_of_a_task
from tests.spark.networks import arrays, plain
from tests.training.models import assert_equal

OPTIONS = {"workers": 2, "batch_size_per_worker": 10}
MASTERS = {
    "rounds of the driver": ParameterAveraging(aggregation="driver", **OPTIONS),
    "workers that stay": AllReduceSGD(**OPTIONS),
}


def profile(cores, gpus=0):
    requests = TaskResourceRequests().cpus(cores)
    return ResourceProfileBuilder().require(requests.resource("gpu", gpus) if gpus else requests)


def trained(sc, master, resources):
    net = SparkNetwork(sc, plain(), master, resources=resources)
    net.fit(arrays())
    return net.network.state


@pytest.mark.parametrize("name", MASTERS)
def test_tasks_that_fit_give_the_same_bits(name, sc):
    found, expected = (trained(sc, MASTERS[name], own) for own in (profile(1).build, None))
    assert_equal(found, expected)


def test_more_cores_than_an_executor_has_are_refused(sc):
    with pytest.raises(ConfigError, match="resources must fit into an executor, got 2 cpus, but"):
        trained(sc, MASTERS["workers that stay"], profile(2).build)


def test_rounds_wait_for_room_so_long(sc, monkeypatch):
    monkeypatch.setattr(waiting, "time_limit", lambda sc: 1.0)
    with pytest.raises(UnsupportedError, match="no task of 'a round on .* has started within"):
        trained(sc, MASTERS["rounds of the driver"], profile(2).build)


REFUSED = {
    "no profile": (4, "resources must be a pyspark.resource.ResourceProfile"),
    "executors": (
        ResourceProfileBuilder().require(ExecutorResourceRequests().cores(2)).build,
        "resources must be what this cluster can deal to tasks: .*dynamic allocation",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_cluster_gives_is_refused_before_any_job(case, sc):
    resources, says = REFUSED[case]
    with pytest.raises(ConfigError, match=says):
        SparkNetwork(sc, plain(), resources=resources)


def test_gpus_are_those_of_the_profile(sc):
    assert gpus_of_a_task(sc, profile(1, gpus=2).build) == 2
    assert gpus_of_a_task(sc, profile(1).build) == 0


THREADS = [(None, {}, None), (3, {}, 3), (3, {"spark.executorEnv.OMP_NUM_THREADS": "1"}, None)]


@pytest.mark.parametrize("cores, settings, threads", THREADS)
def test_threads_are_the_cores_unless_the_environment_says_them(cores, settings, threads):
    resources = cores and profile(cores).build
    assert threads_of_a_task(SimpleNamespace(_conf=settings), resources) == threads


@pytest.mark.parametrize("before", [None, "1"])
def test_a_process_computes_with_the_threads_of_its_task_while_it_runs(before, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before:
        monkeypatch.setenv("OMP_NUM_THREADS", before)
    with computing_with(3):
        assert os.environ["OMP_NUM_THREADS"] == "3"
    with computing_with(None):
        assert os.environ.get("OMP_NUM_THREADS") == before
    assert os.environ.get("OMP_NUM_THREADS") == before
