"""Workers with a sharded state give the bits of those with the whole state."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError
from sparkdl.nn import Adam, Dense, Lamb, Momentum, NetworkConf, Output
from sparkdl.nn.clipping import ClipValue
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.sharding import SHARDS
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.training.models import assert_equal
from tests.training.problems import Partitions, whole_net
from tests.training.resident.test_supervisor import QUICK, Harm

DATA = Partitions([41, 0, 3, 15, 1])  # two or more workers sometimes lack a minibatch
OPTIONS = {"batch_size_per_worker": 4, "updates_per_round": 3, "bucket_bytes": 64}
CONF = whole_net(optimizer=Adam(learning_rate=0.01))
LONG = NetworkConf(  # its buckets are summed by a ring
    input_shape=(4,),
    layers=[Dense(units=301, activation="relu"), Dense(units=307), Output(units=3)],
    optimizer=Momentum(learning_rate=0.01, weight_decay=0.1),
    clipping=ClipValue(limit=0.01),
    seed=3,
)
FEW = NetworkConf(
    input_shape=(4,), layers=[Output(units=3, bias=False)], optimizer=Adam(), l2=0.1, seed=3
)
ROWS = {
    "alone": (CONF, 1, {}),
    "two": (CONF, 2, {"normalize": "workers"}),
    "three": (CONF, 3, {}),
    "four, long buckets": (LONG, 4, {"bucket_bytes": 1 << 19}),
    "three, long buckets over sockets": (LONG, 3, {"bucket_bytes": 1, "shared_memory": False}),
    "more workers than parameters in a bucket": (FEW, 4, {"bucket_bytes": 4}),
}


def fit(workers, conf=CONF, shard=None, epochs=2, state=None, **options):
    master = AllReduceSGD(**OPTIONS | {"shard": shard} | options.pop("master", {}))
    network = Network(conf, state)
    network.fit(options.pop("data", DATA), epochs, master, workers, **options)
    return network.state


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_sharded_fit_gives_the_same_bits(name, crews):
    conf, size, options = ROWS[name]
    whole = fit(crews(size), conf, master=options)
    for shard in SHARDS:
        assert_equal(fit(crews(size), conf, shard, master=options), whole)


@pytest.mark.slow
def test_minibatches_that_are_added_up_give_the_same_bits(crews):
    options = {"master": {"accumulate": 2}}
    whole = fit(crews(2), **options)
    assert_equal(fit(crews(2), shard="optimizer", **options), whole)


@pytest.mark.slow
def test_workers_evaluate_with_all_parameters(crews):
    reports = []
    for shard in (None, *SHARDS):
        network = Network(CONF)
        master = AllReduceSGD(**OPTIONS, shard=shard)
        history = network.fit(DATA, 1, master, crews(2), validation=Partitions([9]))
        reports.append([str(epoch.validation) for epoch in history.epochs])
    assert len(reports[0]) == 1 and reports == [reports[0]] * 4


@pytest.mark.slow
def test_a_state_goes_on_with_other_workers_sharded_or_not(crews):
    start = fit(crews(3), shard="parameters", epochs=1)
    assert_equal(start, fit(crews(3), epochs=1))
    whole = fit(crews(2), state=start)
    for shard in SHARDS:
        assert_equal(fit(crews(2), shard=shard, state=start), whole)


@pytest.mark.slow
def test_a_checkpoint_of_a_sharded_fit_is_whole_and_resumes_either_way(crews, tmp_path):
    whole = fit(crews(2), epochs=3)
    checkpoints = Checkpoints(path=tmp_path, every_rounds=1, keep=50)
    fit(crews(2), shard="gradients", epochs=3, checkpoints=checkpoints)
    path = tmp_path / "round-00000005"
    for shard in (None, "parameters"):
        assert_equal(fit(crews(2), shard=shard, epochs=3, resume=path), whole)


@pytest.mark.slow
@pytest.mark.parametrize("shard", SHARDS)
def test_a_killed_worker_costs_no_bits(shard, crews):
    workers = crews(2)
    harm = Harm(workers, rounds=3)
    state = fit(workers, shard=shard, master=QUICK, data=harm.data, listeners=[harm])
    assert len(harm.restarts) == 1
    assert_equal(state, fit(workers))


REFUSED = {
    "codec": ({"codec": {"type": "Half"}}, "AllReduceSGD.codec must be None"),
    "nccl": ({"exchange": "nccl"}, "AllReduceSGD.exchange must be 'auto' or 'sockets'"),
    "accumulate": ({"accumulate": 2}, "AllReduceSGD.accumulate must be 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_shard_does_not_go_with_is_refused(name):
    options, message = REFUSED[name]
    with pytest.raises(ConfigError, match=message):
        AllReduceSGD(shard="parameters", **options)


def test_an_optimizer_that_looks_at_arrays_is_refused_before_the_fit(crews):
    with pytest.raises(ConfigError, match="AllReduceSGD.shard must be None with optimizer Lamb"):
        fit(crews(2), replace(CONF, optimizer=Lamb()), "optimizer")


def test_a_minibatch_of_another_size_is_summed_as_well(crews):
    """The last minibatch has one example and so runs another program."""
    rng = np.random.default_rng(1)
    data = Batch.of(rng.normal(size=(9, 4)).astype(np.float32), rng.integers(0, 3, 9))
    whole = fit(crews(2), data=data)
    assert_equal(fit(crews(2), shard="parameters", data=data), whole)
