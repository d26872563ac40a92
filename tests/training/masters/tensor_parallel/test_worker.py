"""Workers that divide a network's layers train like one process on their joint minibatch."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import LSTM, Adam, Dense, Momentum, NetworkConf, Output, RnnOutput
from sparkdl.nn.clipping import ClipNorm
from sparkdl.nn.execution.batch_tensors import IDS
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.optimizers import Lamb
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.minibatch_exchange import Minibatch
from sparkdl.training.masters.tensor_parallel.joint_batch import check_alike, masks_in
from sparkdl.training.masters.tensor_parallel.master import TensorParallel
from sparkdl.training.network import Network
from tests.nn.execution.test_split_replica import NETWORKS
from tests.training.master_table import joint_batches
from tests.training.masters.pipeline_parallel.test_worker import Examples, with_slow_ones
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron
from tests.training.resident.test_supervisor import QUICK, Harm

OPTIONS = {"batch_size_per_worker": 4, "updates_per_round": 2}


def even_net(**options):
    """Returns a network with layers that 2 and 4 workers divide, and others that they do not."""
    layers = [Dense(units=8, activation="relu"), Dense(units=6), Dense(units=5), Output(units=4)]
    options = {"input_shape": (4,), "layers": layers, "seed": 3} | options
    return NetworkConf(**{"optimizer": Adam(learning_rate=0.01), "l2": 0.01} | options)


def alone(master, blocks, workers, conf):
    """Returns a Replica of one process after an epoch of joint minibatches, and its updates."""
    replica, updates = Replica(conf), 0
    for batch in joint_batches(master, blocks, workers, conf, 0):
        replica.gradient(batch, epoch=0)
        replica.apply(conf.rate_at(updates, 0), updates + 1)
        updates += 1
    return replica, updates


# test_split_replica compares the gradients of ResNet-18: rounding errors grow in its updates,
# because few examples have large gradients, until they look like a defect.
FITS = {  # network, workers, degree
    "lenet, 2": ("lenet", 2, "auto"),
    "lenet, 4": ("lenet", 4, "auto"),
    "lenet, 2 networks": ("lenet", 4, 2),
    "char_lstm, 2": ("char_lstm", 2, "auto"),
    "char_lstm, 4": ("char_lstm", 4, "auto"),
    "transformer, 2": ("transformer", 2, "auto"),
    "transformer, 4": ("transformer", 4, "auto"),
    "mlp, 2": ("mlp", 2, "auto"),
    "mlp, 4": ("mlp", 4, "auto"),
    "attention, 4": ("attention", 4, "auto"),
    "masks and weights": ("masks and weights", 2, "auto"),
}


@pytest.mark.parametrize("name", with_slow_ones(FITS))
def test_weights_are_those_of_one_process(name, crews):
    network, size, degree = FITS[name]
    conf = replace(NETWORKS[network](), optimizer=Momentum(learning_rate=0.01))
    master = TensorParallel(**OPTIONS, degree=degree, seed=conf.seed)
    data, workers = Examples(network, conf), crews(size)
    trained = Network(conf)
    trained.fit(data, 1, master, workers)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, master)
    with threadpool_limits(workers.threads):
        expected, updates = alone(master, blocks, workers, conf)
    assert trained.state.iteration == updates > 1
    moved = np.abs(expected.params - Replica(conf).params).max()
    distance = np.abs(trained.state.params - expected.params).max()
    assert distance < 1e-3 * moved and distance < 1e-5
    if len(expected.buffers):
        assert np.allclose(trained.state.buffers, expected.buffers, rtol=1e-4, atol=1e-5)


def fit(workers, conf, epochs=2, state=None, **options):
    master = TensorParallel(**OPTIONS | options.pop("master", {}))
    network = Network(conf, state)
    data = options.pop("data", Partitions([41, 0, 3, 15, 1]))
    network.fit(data, epochs, master, workers, **options)
    return network.state


@pytest.mark.slow
def test_the_same_bits_over_sockets(crews):
    one, two = (
        fit(crews(4), even_net(), master={"degree": 2, "shared_memory": shared})
        for shared in (True, False)
    )
    assert_equal(one, two)


@pytest.mark.slow
def test_a_state_goes_on_with_other_workers(crews):
    start = fit(crews(2), even_net(), epochs=1)
    one = fit(crews(2), even_net(), state=start, master={"degree": 1}, epochs=1)
    two = fit(crews(2), even_net(), state=start, master={"degree": 2}, epochs=1)
    assert np.abs(one.params - two.params).max() < 1e-5
    assert np.abs(one.slots - two.slots).max() < 1e-5
    again = fit(crews(4), even_net(), state=start, master={"degree": 4}, epochs=1)
    assert again.epoch == 2 and np.isfinite(again.params).all()


@pytest.mark.slow
def test_a_lost_worker_is_replaced_and_the_weights_are_those_of_the_quiet_run(crews):
    options = {"degree": 2} | QUICK
    harm = Harm(crews(4), rounds=3, rank=3)
    quiet = fit(crews(4), even_net(), master=options, data=harm.data)
    found = fit(harm.workers, even_net(), master=options, data=harm.data, listeners=[harm])
    assert len(harm.restarts) == 1
    assert_equal(found, quiet)


@pytest.mark.parametrize(
    "conf, options, error",
    [
        (perceptron(clipping=ClipNorm(limit=1.0)), {}, "a network without clipping ClipNorm"),
        (perceptron(optimizer=Lamb()), {}, "a network without optimizer Lamb"),
        (perceptron(dtype="float16"), {}, "a network without dtype 'float16'"),
        (perceptron(dtype="bfloat16"), {}, "a network without dtype 'bfloat16'"),
        (perceptron(), {"degree": 2}, "degree must be a divisor of 3, the number of workers"),
        (perceptron(), {"codec": "OneBit"}, "codec must be None"),
        (perceptron(), {"device": "cuda"}, "device must be 'cpu'"),
        (perceptron(), {"degree": 0}, "degree must be"),
    ],
)
def test_what_is_not_trained_in_parts_is_refused(conf, options, error, crews):
    with pytest.raises(ConfigError, match=error):
        fit(crews(3), conf, master=options)


def minibatches(*columns):
    """Returns minibatches of 4, 5, ... examples, each with {column: shape of one example}."""
    forms = [
        [[name, "<f4", [4 + n, *shape]] for name, shape in (one | {IDS: ()}).items()]
        for n, one in enumerate(columns)
    ]
    return [Minibatch(form, 1.0, True) for form in forms]


DIFFERENT = {
    "steps": ({"features": (5, 3)}, {"features": (6, 3)}),
    "columns": ({"features": (5, 3)}, {"features": (5, 3), "weights": ()}),
    "steps of masks": ({"features": (5,), "mask": (5,)}, {"features": (5,), "mask": (6,)}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_minibatches_of_different_columns_or_steps_are_refused(name):
    present = minibatches(*DIFFERENT[name])
    shapes = " and ".join(str(columns) for columns in DIFFERENT[name])
    with pytest.raises(DataError) as caught:
        check_alike(present, masks_in(present, {"mask"}))
    assert f"got {shapes}; pad sequences to one length" in str(caught.value)


def test_minibatches_that_have_a_mask_join_others_that_have_none():
    one, other = {"features": (5, 3)}, {"features": (5, 3), "mask": (5,)}
    present = minibatches(one, other, one)
    masks = masks_in(present, {"mask", "labels_mask"})
    assert masks == {"mask": ("<f4", [5])}
    check_alike(present, masks)


class MaskedSequences:
    """A source of sequences of which few or none in a minibatch are padded."""

    transform = None

    def __init__(self, conf, padded, length, own):
        rng, shape = np.random.default_rng(0), next(iter(conf.input_shapes.values()))
        mask = np.ones((40, shape[0]), np.float32)
        mask[padded, length:] = 0
        columns = {"features": rng.normal(size=(40, *shape)).astype(np.float32), "mask": mask}
        columns |= {"labels": rng.integers(0, 3, (40, shape[0])), "labels_mask": own(mask)}
        self.batch = Batch(ids=np.arange(40, dtype=np.uint64), columns=columns)

    def splits(self):
        return Partitions([40]).splits()

    def read(self, split):
        yield self.batch


def of_one_record(mask):
    """Returns label masks for one record alone; other records use the mask of features."""
    own = np.full_like(mask, -1)
    own[30] = np.arange(mask.shape[1]) < 2
    return own


@pytest.mark.slow
@pytest.mark.parametrize("own", [np.copy, of_one_record])
@pytest.mark.parametrize("tbptt", [None, (3, 3)])
def test_masks_that_some_workers_left_out_are_joined(tbptt, own, crews):
    layers = [LSTM(units=4), Dense(units=4), RnnOutput(units=3)]
    options = {"optimizer": Momentum(learning_rate=0.1), "seed": 1, "tbptt": tbptt}
    conf = NetworkConf(input_shape=(6, 4), layers=layers, **options)
    data = MaskedSequences(conf, [0, 7, 21], 4, own)
    states = []
    for master in (TensorParallel, AllReduceSGD):
        network = Network(conf)
        network.fit(data, 2, master(**OPTIONS), crews(2))
        states.append(network.state)
    assert states[0].iteration == states[1].iteration > 2
    np.testing.assert_allclose(states[0].params, states[1].params, rtol=1e-5, atol=1e-6)
