"""A pipeline trains like one process that accumulates the same microbatches."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.blocks import permutation
from sparkdl.errors import ConfigError
from sparkdl.exchange.collectives.pieces import cuts
from sparkdl.nn import (
    Adam,
    AddedLoss,
    Dense,
    GraphConf,
    LayerNorm,
    Merge,
    Momentum,
    NetworkConf,
    Output,
    Vertex,
    zoo,
)
from sparkdl.nn.clipping import ClipLayerNorm, ClipNorm
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.optimizers import Lamb
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.pipeline_parallel.master import PipelineParallel
from sparkdl.training.network import Network
from tests.nn.execution.test_stage_replica import NETWORKS, examples, small
from tests.support.tables import slow
from tests.training.master_table import plan_of
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron, whole_net
from tests.training.resident.test_supervisor import QUICK, Harm

OPTIONS = {"batch_size_per_worker": 4, "updates_per_round": 2}
DEEP = NetworkConf(
    input_shape=(4,),
    layers=[Dense(units=8, activation="relu"), LayerNorm(), Dense(units=7), Output(units=3)],
    optimizer=Lamb(learning_rate=0.01),
    clipping=ClipLayerNorm(limit=0.5),
    l2=0.01,
    seed=3,
)


class Examples:
    """A source of one partition: the batches of a network's test, repeated.

    Images are random, because BatchNorm would divide equal examples by nearly zero.
    """

    transform = None

    def __init__(self, name, conf, times=5):
        one = examples(name, conf)
        ids = np.arange(times * len(one), dtype=np.uint64)
        columns = {n: np.concatenate([column] * times) for n, column in one.columns.items()}
        rng = np.random.default_rng(0)
        images = {n: of for n, of in columns.items() if of.ndim == 4}
        columns |= {n: rng.normal(size=of.shape).astype(np.float32) for n, of in images.items()}
        self.batch = replace(one, columns=columns, ids=ids)

    def splits(self):
        return Partitions([len(self.batch)]).splits()

    def read(self, split):
        yield self.batch


def microbatches(master, blocks, workers, conf):
    """Yields [microbatches, in order] for each update of an epoch."""
    for chosen in plan_of(master, blocks, workers, conf, 0):
        held = [blocks.blocks[n] for n in chosen]
        orders = [permutation(conf.seed, 0, n, n=len(blocks.blocks[n])) for n in chosen]
        for start in range(0, max(map(len, held)), master.batch_size_per_worker):
            parts = [
                block.take(order[start : start + master.batch_size_per_worker])
                for block, order in zip(held, orders, strict=True)
            ]
            yield [
                part.take(np.arange(a, b))
                for part in parts
                if len(part)
                for a, b in pieces(len(part), master.microbatches)
            ]


def pieces(n, count):
    edges = cuts(n, min(n, count))
    return pairwise(edges)


def alone(master, blocks, workers, conf):
    """Returns a Replica of one process after an epoch of accumulated gradients, and its updates."""
    replica, updates = Replica(conf), 0
    for parts in microbatches(master, blocks, workers, conf):
        total, grad = sum(map(len, parts)), np.zeros_like(replica.params)
        for part in parts:
            replica.gradient(part, epoch=0)
            grad += replica.grad * np.float32(len(part) / total)
        replica.grad[...] = grad
        replica.apply(conf.rate_at(updates, 0), updates + 1)
        updates += 1
    return replica, updates


FITS = {  # network, workers, stages
    "lenet, 2": ("lenet", 2, "auto", 2),
    "lenet, 4": ("lenet", 4, "auto", 1),
    "lenet, 2 pipelines": ("lenet", 4, 2, 3),
    "resnet18, 2": ("resnet18", 2, "auto", 1),
    "resnet18, 4": ("resnet18", 4, 4, 1),
    "char_lstm, 2": ("char_lstm", 2, "auto", 4),
    "char_lstm, 4": ("char_lstm", 4, 2, 2),
    "transformer, 2": ("transformer", 2, "auto", 2),
    "transformer, 4": ("transformer", 4, "auto", 2),
    "branches, labels in two stages": ("several inputs and outputs", 2, ("kind",), 2),
    "masks and weights": ("masks and weights", 2, "auto", 2),
    "weights of outputs in two stages": ("outputs with weights", 2, ("kind",), 2),
}


def network_of(name):
    """Uses a larger ResNet-18, because BatchNorm over few numbers amplifies rounding errors."""
    if name != "resnet18":
        return replace(NETWORKS[name](), optimizer=Momentum(learning_rate=0.01))
    conf = small(zoo.resnet18(classes=5), features=(3, 64, 64))
    return replace(conf, optimizer=Momentum(learning_rate=1e-4))


# Relative to the change of the weights. A ReLU input near 0 may round to either side.
NEAR = {"resnet18": 2e-2}


def with_slow_ones(names):
    return [slow(n) if n.startswith("resnet") or n.endswith(", 4") else n for n in names]


@pytest.mark.parametrize("name", with_slow_ones(FITS))
def test_weights_are_those_of_one_process(name, crews):
    network, size, stages, parts = FITS[name]
    conf = network_of(network)
    master = PipelineParallel(**OPTIONS, stages=stages, microbatches=parts, seed=conf.seed)
    data, workers = Examples(network, conf), crews(size)
    trained = Network(conf)
    trained.fit(data, 1, master, workers)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, master)
    expected, updates = alone(master, blocks, workers, conf)
    assert trained.state.iteration == updates > 1
    moved = np.abs(expected.params - Replica(conf).params).max()
    assert np.abs(trained.state.params - expected.params).max() < NEAR.get(network, 1e-3) * moved
    assert np.abs(trained.state.params - expected.params).max() < 1e-5
    if len(expected.buffers):
        assert np.allclose(trained.state.buffers, expected.buffers, rtol=1e-4, atol=1e-5)


def fit(workers, conf=DEEP, epochs=2, state=None, **options):
    master = PipelineParallel(**OPTIONS | options.pop("master", {}))
    network = Network(conf, state)
    network.fit(
        options.pop("data", Partitions([41, 0, 3, 15, 1])), epochs, master, workers, **options
    )
    return network.state


@pytest.mark.slow
def test_inputs_may_have_the_names_of_what_each_record_has(crews, rng):
    """Inputs may be called "ids" and "epoch"; the weights equal those for other names."""
    columns = {"one": rng.normal(size=(24, 3)), "other": rng.normal(size=(24, 2))}
    columns = {name: array.astype(np.float32) for name, array in columns.items()}
    labels, found = rng.integers(0, 3, 24), []
    for names in ("one", "other"), ("ids", "epoch"):
        join = [Vertex(name="all", layer=Merge(), inputs=names)]
        join += [Vertex(name="hidden", layer=Dense(units=5), inputs="all")]
        join += [Vertex(name="out", layer=Output(units=3), inputs="hidden")]
        shapes = dict(zip(names, [(3,), (2,)], strict=True))
        conf = GraphConf(inputs=shapes, vertices=join, seed=1)
        batch = dict(zip(names, columns.values(), strict=True)) | {"labels": labels}
        data = Batch(ids=np.arange(24, dtype=np.uint64), columns=batch)
        found.append(fit(crews(2), conf, data=data, master={"stages": 2}).params)
    np.testing.assert_array_equal(*found)


@pytest.mark.slow
def test_norms_of_layers_are_those_of_the_whole_network(crews):
    """Lamb and ClipLayerNorm need whole arrays, each of which lies in one stage."""
    one = fit(crews(2), master={"stages": 1})
    assert np.abs(fit(crews(2), master={"stages": 2}).params - one.params).max() < 1e-5


@pytest.mark.slow
def test_activations_computed_again_give_the_same_weights(crews):
    one, two = (fit(crews(2), master={"stages": 2, "recompute": again}) for again in (False, True))
    assert np.allclose(one.params, two.params, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_the_same_bits_over_sockets(crews):
    options = {"stages": 2, "microbatches": 3}
    one, two = (
        fit(crews(4), master=options | {"shared_memory": shared}) for shared in (True, False)
    )
    assert_equal(one, two)


@pytest.mark.slow
def test_a_state_goes_on_with_other_workers(crews):
    conf = whole_net(optimizer=Adam(learning_rate=0.01))
    start = fit(crews(2), conf, epochs=1)
    for size, stages in ((1, 1), (4, 2), (3, 1)):
        again = fit(crews(size), conf, state=start, master={"stages": stages})
        assert again.epoch == 3 and np.isfinite(again.params).all()


@pytest.mark.slow
def test_a_lost_worker_is_replaced_and_the_weights_are_those_of_the_quiet_run(crews):
    conf, options = whole_net(optimizer=Adam(learning_rate=0.01)), {"stages": 2} | QUICK
    harm = Harm(crews(4), rounds=3, rank=3)
    quiet = fit(crews(4), conf, master=options, data=harm.data)
    found = fit(harm.workers, conf, master=options, data=harm.data, listeners=[harm])
    assert len(harm.restarts) == 1
    assert_equal(found, quiet)


def summed(by):
    """Returns a network whose loss sums over the minibatch, in the layer of this name."""
    reduction, mean = ("mean", False) if by == "addedloss_1" else ("total", True)
    layers = [Dense(units=5, activation="tanh"), AddedLoss(weight=0.01, mean=mean)]
    layers += [Dense(units=4), Output(units=3, reduction=reduction)]
    return perceptron(layers=layers, optimizer=Momentum(learning_rate=0.02))


@pytest.mark.slow
@pytest.mark.parametrize("by", ["output_1", "addedloss_1"])
def test_sums_over_a_minibatch_are_those_of_all_reduce(by, crews):
    one = fit(crews(2), summed(by), master={"stages": 2, "microbatches": 1})
    network = Network(summed(by))
    network.fit(Partitions([41, 0, 3, 15, 1]), 2, AllReduceSGD(**OPTIONS), crews(2))
    np.testing.assert_allclose(one.params, network.state.params, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "conf, options, error",
    [
        (perceptron(clipping=ClipNorm(limit=1.0)), {}, "needs a network without ClipNorm"),
        (perceptron(dtype="float16"), {}, "needs a network without dtype 'float16'"),
        (perceptron(), {"stages": 3, "workers": 3}, "stages must be at most 2 for this network"),
        (perceptron(), {"stages": 2}, "stages must be a divisor of 3, the number of workers"),
        (perceptron(), {"codec": "OneBit"}, "codec must be None"),
        (perceptron(), {"device": "cuda"}, "device must be 'cpu'"),
        (perceptron(), {"stages": 0}, "stages must be"),
        (perceptron(), {"microbatches": 0}, "microbatches must be"),
        (summed("output_1"), {}, "microbatches must be 1 with layer 'output_1', .* got 2; set it"),
        (summed("addedloss_1"), {}, "microbatches must be 1 with layer 'addedloss_1'"),
    ],
)
def test_what_no_pipeline_does_is_refused(conf, options, error, crews):
    with pytest.raises(ConfigError, match=error):
        fit(crews(3), conf, master=options)


@pytest.mark.slow
def test_the_zoo_has_stages():
    for name in ("vgg16", "googlenet", "inception_v3"):
        PipelineParallel(stages=4, workers=4).check_network(getattr(zoo, name)())
