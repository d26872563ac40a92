"""Where networks are cut: balanced stages, little communication, and refusals."""

from itertools import pairwise

import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Dense, ElementWise, GraphBuilder, LossLayer, NetworkConf, Output, zoo
from sparkdl.nn.execution.cost_estimates import estimate_layer_seconds
from sparkdl.training.masters.pipeline_parallel.cuts import (
    EXAMPLES,
    best_edges,
    bytes_across,
    cut_places,
    edges_of,
    stages_of,
    traced,
)
from tests.nn.example_networks import lenet


def dense(*units):
    layers = [Dense(units=n, name=f"d{i}") for i, n in enumerate(units)]
    return NetworkConf(input_shape=(100,), layers=[*layers, Output(units=100, name="out")])


def tied():
    """Returns a network whose third layer shares the parameters of the first."""
    build = GraphBuilder(x=(6,))
    build.add(Dense(units=6), "x", name="first")
    build.add(Dense(units=6), "first", name="second")
    build.add(Dense(units=6), "second", name="third", shares="first")
    build.add(Dense(units=6), "third", name="fourth")
    build.add(ElementWise(), "first", "fourth", name="sum")
    build.add(Output(units=2), "sum", name="out")
    return build.conf()


def seconds_of(conf):
    return estimate_layer_seconds(conf, traced(conf)[0], EXAMPLES)


def test_equal_layers_make_equal_stages():
    conf = dense(100, 100, 100)
    assert [edges_of(conf, n, 4) for n in (1, 2, 4)] == [[0, 4], [0, 2, 4], [0, 1, 2, 3, 4]]


def test_the_slowest_stage_is_as_fast_as_can_be():
    conf = zoo.vgg16(classes=10)
    seconds, edges = seconds_of(conf), best_edges(conf, 3)
    slowest = max(seconds[a:b].sum() for a, b in pairwise(edges))
    assert slowest < 0.45 * seconds.sum()
    assert edges[0] == 0 and edges[-1] == len(conf.stack)


def test_operations_of_a_layer_are_counted():
    conf = dense(100, 1000)
    one, two, three = seconds_of(conf)
    assert 5 * one < two < 12 * one and 5 * one < three < 12 * one


def test_what_crosses_is_counted_both_ways():
    conf = tied()
    names, (values, *_) = [place.name for place in conf.stack], traced(conf)
    assert bytes_across(conf, values, names.index("sum")) == (4 * (6 + 6), 4 * (6 + 6))
    assert bytes_across(conf, values, 0) == (0, 0)


def test_layers_that_share_parameters_stay_together():
    conf = tied()
    names = [conf.stack[cut].name for cut in cut_places(conf)]
    assert names == ["fourth", "sum", "out"]


def test_stages_may_be_named():
    conf = lenet()
    assert edges_of(conf, ("conv2d_2", "dense_1"), 3) == [0, 2, 5, 7]
    stages = stages_of(conf, ("conv2d_2", "dense_1"), 6)
    assert [place.name for place in stages[1].stack] == ["conv2d_2", "maxpool2d_2", "flatten_1"]
    assert stages[1].reads == ("maxpool2d_1",) and stages[1].gives == ("flatten_1",)


def test_auto_takes_the_most_stages_that_divide_the_workers():
    conf = dense(100)
    counts = {n: len(edges_of(conf, "auto", n)) - 1 for n in (1, 2, 3, 4, 6)}
    assert counts == {1: 1, 2: 2, 3: 1, 4: 2, 6: 2}


def test_a_network_without_parameters_is_one_stage():
    conf = NetworkConf(input_shape=(3,), layers=[LossLayer(loss="mse")])
    assert [edges_of(conf, wanted, 2) for wanted in ("auto", 1)] == [[0, 1], [0, 1]]
    with pytest.raises(ConfigError, match="must be at most 1 for this network, got 2"):
        stages_of(conf, 2, 2)


@pytest.mark.parametrize(
    "conf, wanted, workers, error",
    [
        (dense(100), 3, 3, r"PipelineParallel\.stages must be at most 2 for this network, got 3"),
        (dense(100, 100), 2, 3, r"must be a divisor of 3, the number of workers, got 2; 3 workers"),
        (
            dense(100),
            ("d1",),
            2,
            r"must be layers that a stage may begin with, \['out'\], got 'd1'",
        ),
        (dense(100), ("out", "out"), 3, "must be layers in order, with parameters between them"),
        (tied(), ("third",), 2, "must be layers that a stage may begin with, .'fourth', 'sum'"),
        (tied(), ("sum", "out"), 3, "must be layers in order, with parameters between them"),
    ],
)
def test_stages_that_there_cannot_be_are_refused(conf, wanted, workers, error):
    with pytest.raises(ConfigError, match=error):
        stages_of(conf, wanted, workers)
