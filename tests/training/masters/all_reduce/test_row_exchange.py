"""Sums of row gradients over workers, and fits of networks with tables."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl import AllReduceSGD, BlockMomentum, Checkpoints, ParameterAveraging
from sparkdl.errors import ConfigError
from sparkdl.nn import AdaGrad, EmbeddingBag, GraphConf, Merge, Output, Vertex
from sparkdl.nn.tables.bags import RowGradients
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.training.masters.all_reduce.row_exchange import RowExchange, decode, encode
from sparkdl.training.network import Network
from sparkdl.training.saving.stored_tables import read_tables
from sparkdl.training.workers.local import LocalWorkers

FAR = 2**53 + 1


def gradients(ids, rows, table=0):
    rows = np.array(rows, np.float32).reshape(len(ids), -1 if ids else 2)
    return RowGradients(RowKeys.of(ids, table), rows)


def test_messages_give_back_what_they_are_made_of():
    parts = [gradients([1, FAR], [[1, 2], [3, 4]]), gradients([], []), gradients([5], [[7]], 3)]
    weight, received = decode(encode(3.5, parts), [2, 2, 1])
    assert weight == 3.5
    for one, two in zip(parts, received, strict=True):
        assert one.rows.tolist() == two.rows.tolist()
        for array, other in zip(one.keys, two.keys):
            assert array.dtype == other.dtype and array.tolist() == other.tolist()


def test_the_mean_is_over_all_examples_in_the_order_of_ranks():
    others = encode(30, [gradients([2, 9], [[30, 60], [30, 0]])])
    group = SimpleNamespace(all_gather_bytes=lambda own: [own, others])
    replica = SimpleNamespace(groups=[SimpleNamespace(dimension=2)], row_gradients=None)
    worker = SimpleNamespace(replica=replica, group=group, exchanging=nullcontext)
    exchange = RowExchange(worker)
    for ids, rows in (([1, 2], [[4, 8], [0, 4]]), ([2], [[8, 0]])):
        replica.row_gradients = [gradients(ids, rows)]
        exchange.keep(5)
    exchange.end()
    [(keys, rows)] = replica.row_gradients
    assert keys.ids.tolist() == [1, 2, 9]
    # By hand: (5 (0, 4) + 5 (8, 0) + (30, 60)) / 40 is the row of id 2.
    np.testing.assert_allclose(rows, [[0.5, 1], [1.75, 2], [0.75, 0]])
    exchange.end()  # a worker without a minibatch contributes nothing
    assert replica.row_gradients[0].keys.ids.tolist() == [2, 9]


def network():
    bags = [
        EmbeddingBag(name="words", dimension=4, width=3, combine="mean"),
        EmbeddingBag(name="user", dimension=2),
    ]
    vertices = [
        Vertex(name="all", layer=Merge(), inputs=("words", "user", "x")),
        Vertex(name="out", layer=Output(units=2), inputs="all"),
    ]
    optimizer = AdaGrad(learning_rate=0.1)
    return GraphConf(inputs={"x": (2,)}, bags=bags, vertices=vertices, optimizer=optimizer)


def records(n=64):
    rng = np.random.default_rng(5)
    words, user = rng.integers(-1, 20, (n, 3)), rng.integers(0, 9, (n, 1)) + FAR
    x = rng.normal(size=(n, 2)).astype(np.float32)
    return {"words": words, "user": user, "x": x}, (user[:, 0] % 2).astype(np.int32)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """{1, 2 workers: network} after equal updates: on the joint batch, and on two halves of it."""
    nets = {}
    for workers in (1, 2):
        master = AllReduceSGD(batch_size_per_worker=64 // workers, device="cpu")
        with LocalWorkers(workers) as processes:
            nets[workers] = Network(network())
            nets[workers].fit(records(), epochs=4, master=master, workers=processes)
    return nets


def rows_by_id(net, table):
    arrays = read_tables(net.state.tables)
    ids, rows = arrays[f"{table}/ids"], arrays[f"{table}/rows"]
    order = np.argsort(ids)
    return ids[order], rows.reshape(len(ids), -1)[order]


@pytest.mark.slow
def test_two_workers_train_what_one_does_on_the_joint_batch(fitted):
    for table in ("words", "user"):
        (ids, rows), (other_ids, others) = (rows_by_id(net, table) for net in fitted.values())
        np.testing.assert_array_equal(ids, other_ids)
        np.testing.assert_allclose(rows, others, atol=1e-5)
    params = [net.state.params for net in fitted.values()]
    np.testing.assert_allclose(*params, atol=1e-5)
    assert fitted[2].evaluate(records()).loss < Network(network()).evaluate(records()).loss


@pytest.mark.slow
def test_a_saved_network_has_its_tables(fitted, tmp_path):
    features, _ = records()
    fitted[2].save(tmp_path / "net")
    again = Network.load(tmp_path / "net")
    np.testing.assert_array_equal(again.predict(features), fitted[2].predict(features))
    assert (tmp_path / "net" / "tables.safetensors").exists()


@pytest.mark.slow
def test_a_resumed_fit_has_the_bits_of_one_that_was_not_interrupted(fitted, tmp_path):
    master, checkpoints = (
        AllReduceSGD(batch_size_per_worker=32, device="cpu"),
        Checkpoints(path=tmp_path),
    )
    with LocalWorkers(2) as processes:
        options = {"master": master, "workers": processes, "validation": records()}
        Network(network()).fit(records(), epochs=2, checkpoints=checkpoints, **options)
        again = Network(network())
        again.fit(records(), epochs=4, resume=tmp_path, **options)
    whole, state = fitted[2].state, again.state
    assert state.tables.keys() == whole.tables.keys()
    for name, array in whole.tables.items():
        np.testing.assert_array_equal(state.tables[name], array)
    np.testing.assert_array_equal(state.params, whole.params)
    loss = again.evaluate(records()).loss
    assert again.history.epochs[-1].validation.loss == pytest.approx(loss, rel=1e-5)


REFUSED = {
    "averaging": (ParameterAveraging(workers=1), "GraphConf.bags must be none with Parameter"),
    "momentum": (BlockMomentum(workers=1), "none with BlockMomentum.*AllReduceSGD does"),
    "shard": (
        AllReduceSGD(shard="optimizer"),
        "AllReduceSGD.shard must be None, got 'optimizer'; with GraphConf.bags",
    ),
    "gpu": (
        AllReduceSGD(device="cuda"),
        "device must be 'auto' or 'cpu', got 'cuda'; with GraphConf.bags",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_masters_refuse_before_anything_starts(name):
    master, text = REFUSED[name]
    with pytest.raises(ConfigError, match=text):
        master.check_network(network())


def test_solvers_refuse_tables():
    with pytest.raises(ConfigError, match="solvers support no GraphConf.bags"):
        Network(network()).fit_full_batch(records())
