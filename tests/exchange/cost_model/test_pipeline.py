"""The cost model of pipelines matches figures worked out by hand."""

from dataclasses import replace

import pytest

from sparkdl.exchange.cost_model.model import Cluster, Costs
from sparkdl.exchange.cost_model.pipeline import PipelineModel

COSTS = Costs(message=1e-5, socket=1e-9, add=0.0, shared=5e-10, barrier=2e-5)
MB = 1e6
EVEN = PipelineModel(stages=2, slowest=0.5, crossing=0.0, inputs=0.0, nbytes=4 * MB, microbatches=4)


def cluster(**options):
    return Cluster(costs=COSTS, **{"workers": 2, "cores": 1} | options)


def test_the_pipeline_fills_and_empties():
    """8 microbatches pass, plus one to fill the pipeline: 9 / 8 of the computation."""
    found = EVEN.exchange(cluster(), compute=0.8)
    assert found.seconds == pytest.approx(0.1 + 2e-5)
    assert found.sent == 0


def test_an_uneven_stage_holds_up_all():
    found = replace(EVEN, slowest=0.75).exchange(cluster(), compute=0.8)
    assert found.seconds == pytest.approx(9 * 0.15 - 0.8 + 2e-5)


def test_small_microbatches_take_no_less_than_moving_the_parameters():
    """Of a stage's 0.4 s, 0.04 s per microbatch move parameters, however the batch is cut."""
    found = replace(EVEN, least=0.04).exchange(cluster(), compute=0.8)
    assert found.seconds == pytest.approx(9 * (0.36 / 4 + 0.04) - 0.8 + 2e-5)


def test_a_slow_wire_holds_up_all():
    """A microbatch of 1 MB takes 10 ms to send and 1 ms to compute."""
    found = replace(EVEN, crossing=4 * MB).exchange(cluster(bandwidth=1e8), compute=0.008)
    assert found.seconds == pytest.approx(9 * 0.01 - 0.008 + 2 * (0.01 + 1e-5))
    assert found.sent == 8 * MB


def test_features_of_others_come_to_the_first_stage():
    found = replace(EVEN, inputs=2 * MB).exchange(cluster(bandwidth=1e8), compute=0.8)
    assert found.seconds == pytest.approx(0.1 + 2e-5 + 0.01)
    assert found.sent == MB


def test_pipelines_sum_the_gradients_of_their_stages():
    one = EVEN.exchange(cluster(bandwidth=1e8), compute=0.8)
    two = EVEN.exchange(cluster(workers=4, bandwidth=1e8), compute=0.8)
    summed = cluster(bandwidth=1e8).all_reduce(4 * MB)
    assert two.seconds == pytest.approx(one.seconds + summed.seconds)
    assert two.sent == summed.sent
