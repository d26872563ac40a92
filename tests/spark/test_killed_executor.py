"""An executor killed in the middle of a round costs time and nothing else."""

import pytest

from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, rich
from tests.spark.slow import Fault, Slow, Trap, executor_of
from tests.support.waiting import gone, until
from tests.training.models import assert_equal

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=5, averaging_frequency=2, workers=2, prefetch=0
)
RECORDS, EPOCHS, CALLS = 60, 2, 4  # minibatches of a round


def fit(sc, transform):
    net = SparkNetwork(sc, rich(), MASTER)
    return net, net.fit(arrays(RECORDS, transform=transform), epochs=EPOCHS)


@pytest.mark.parametrize("number", [1, 4], ids=["blocks still with their makers", "blocks cached"])
def test_the_weights_are_those_of_the_undisturbed_run(number, tmp_path, sc):
    """The executor dies in a minibatch of the round after `number` rounds."""
    paths = tmp_path / "calm", tmp_path / "disturbed"
    for path in paths:
        path.mkdir()
    calm, trap = Slow(str(paths[0])), Trap(str(paths[1]), after=number * CALLS)
    expected, undisturbed = fit(sc, calm)
    assert len(calm.calls()) == CALLS * len(undisturbed.rounds)
    fault = Fault(trap, lambda process: executor_of(process).kill())
    fault.start()
    net, history = fit(sc, trap)
    assert until(lambda: gone(fault.victim))
    assert [epoch.examples for epoch in history.epochs] == [RECORDS] * EPOCHS
    assert {n for ids in trap.calls() for n in ids} == {n for ids in calm.calls() for n in ids}
    assert len(trap.calls()) > len(calm.calls())  # the killed minibatch was repeated
    assert_equal(net.network.state, expected.network.state)
