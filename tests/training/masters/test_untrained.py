"""What does not move keeps its bits under every master, and takes no room in messages."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.exchange.codecs import TopK
from sparkdl.nn import (
    BatchNorm,
    Dense,
    Frozen,
    Momentum,
    NetworkConf,
    Output,
    initial_params,
)
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.gradient_sharing.master import GradientSharing
from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from tests.support.tables import first_of_each
from tests.training.master_table import MASTERS, SMALL, joint_batches
from tests.training.problems import Partitions, gradient, perceptron

NOISY = ["averaging by peers", "updates past a threshold", "elastic", "elastic around a store"]
KEEPING = {name: row.master for name, row in MASTERS.items()}
KEEPING |= {f"{name}, of 1 bit": replace(MASTERS[name].master, codec="OneBit") for name in NOISY}


class KeepingConf(NetworkConf):
    """A conf that allows infinite constants, as live models do."""

    keeps_constants = True


def keeping_kind(name):
    """Returns the kind of a row; a 1-bit row is its own, because that codec changes all numbers."""
    return name if name not in MASTERS else type(KEEPING[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of_each(KEEPING, keeping_kind))
def test_what_is_not_trained_keeps_its_bits(name, crews):
    """Includes infinities, and numbers too large to multiply by a count of examples."""
    frozen = [Frozen(layer=Dense(units=20)), Frozen(layer=BatchNorm())]
    layers = [*frozen, Dense(units=5), BatchNorm(), Output(units=3)]
    options = {"optimizer": Momentum(learning_rate=0.05), "l2": 0.01, "seed": 3}
    conf = KeepingConf(input_shape=(4,), layers=layers, **options)
    network = Network(conf)
    start = replace(network.state, buffers=network.state.buffers.copy())
    buffers = conf.buffers_layout.views(start.buffers)
    buffers["frozen_2/mean"][1], buffers["frozen_2/variance"][1] = -3.4028235e38, np.inf
    network = Network(conf, start)
    network.fit(Partitions([30, 0, 25]), 2, KEEPING[name], crews(3))
    for layout, which in ((conf.params_layout, "params"), (conf.buffers_layout, "buffers")):
        after, before = (layout.views(getattr(s, which)) for s in (network.state, start))
        kept = {key for key in before if (before[key] == after[key]).all()}
        assert {key for key in before if "frozen" in key} <= kept < before.keys()


HEAD = slice(4 * 5 + 5, None)
OF_HEAD = TopK(17.5 / 43)  # sends 18 numbers, as many as the head has
IN_ONE_MESSAGE = {"updates_per_round": 2, "codec": OF_HEAD} | SMALL
CODED = {
    "all-reduce": AllReduceSGD(**IN_ONE_MESSAGE),
    "gradients shared": GradientSharing(share="gradients", **IN_ONE_MESSAGE),
    "servers": ParameterServer(servers=1, **IN_ONE_MESSAGE),
    "local SGD, in step": LocalSGD(period=2, parallel_from=9, **IN_ONE_MESSAGE),
}


@pytest.mark.parametrize("name", CODED)
def test_gradients_of_what_does_not_move_take_no_room_in_messages(name, crews):
    """Each message holds all numbers of the trained layer, so none is delayed."""
    layers = [Dense(units=5, activation="tanh", rate_factor=0), Output(units=3)]
    conf, master, workers = perceptron(layers=layers), CODED[name], crews(2)
    data, network = Partitions([24, 24]), Network(conf)
    network.fit(data, 1, master, workers)
    expected = initial_params(conf).astype(float)
    master = replace(master, seed=conf.seed)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, master)
    for batch in joint_batches(master, blocks, workers, conf, 0):
        _, slope = gradient(conf, expected, batch.features, batch.labels)
        expected[HEAD] -= conf.optimizer.learning_rate * slope[HEAD]
    np.testing.assert_allclose(network.state.params, expected, rtol=1e-5, atol=1e-6)
