"""A network with embedding tables, against one that holds them as dense parameters."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import (
    Adam,
    EmbeddingBag,
    EmbeddingSequence,
    Flatten,
    GraphConf,
    Merge,
    Output,
    Sgd,
    Vertex,
)
from sparkdl.nn.execution.replica import Replica, make_replica
from sparkdl.nn.tables.row_keys import RowKeys

VERTICES = [
    Vertex(name="all", layer=Merge(), inputs=("words", "x")),
    Vertex(name="out", layer=Output(units=2), inputs="all"),
]


def bagged(optimizer="sgd", **options):
    words = EmbeddingBag(name="words", dimension=4, width=3, **options)
    return GraphConf(inputs={"x": (2,)}, bags=[words], vertices=VERTICES, optimizer=optimizer)


def batch(rng, n=8):
    words = rng.integers(0, 10, (n, 3))
    x = rng.normal(size=(n, 2)).astype(np.float32)
    labels = rng.integers(0, 2, n).astype(np.int32)
    return Batch(columns={"words": words, "x": x, "labels": labels}, ids=record_ids(0, 0, n))


def loaded(conf, arrays=None):
    replica = make_replica(conf, "reference")
    replica.load_tables({} if arrays is None else arrays)
    return replica


def words_of(replica, ids):
    """Returns the table rows of ids."""
    [group] = replica.groups
    return group.read(RowKeys.of(ids))


def dense_twin(replica):
    """Returns the same network with the table as parameters of an EmbeddingSequence."""
    lookup = EmbeddingSequence(vocabulary_size=10, units=4, activation="identity")
    conf = GraphConf(
        inputs={"words": (3,), "x": (2,)},
        optimizer="sgd",
        vertices=[
            Vertex(name="rows", layer=lookup, inputs="words"),
            Vertex(name="flat", layer=Flatten(), inputs="rows"),
            Vertex(name="all", layer=Merge(), inputs=("flat", "x")),
            Vertex(name="out", layer=Output(units=2), inputs="all"),
        ],
    )
    twin = Replica(conf, "reference")
    views, own = twin.arrays()[0], replica.arrays()[0]
    views["rows/W"][...] = words_of(replica, np.arange(10))
    weights = own["out/W"]
    views["out/W"][...] = np.concatenate([*[weights[:4]] * 3, weights[4:]])
    views["out/b"][...] = own["out/b"]
    return twin


def test_gradients_of_rows_are_those_of_a_dense_table(rng):
    replica, data = loaded(bagged()), batch(rng)
    twin = dense_twin(replica)
    loss, _ = replica.gradient(data)
    dense_loss, _ = twin.gradient(data)
    assert float(loss) == pytest.approx(float(dense_loss), rel=1e-5)
    [(keys, rows)] = replica.row_gradients
    expected = twin.conf.params_layout.views(twin.grad)["rows/W"]
    np.testing.assert_allclose(rows, expected[keys.ids], atol=1e-6)
    assert set(keys.ids) == set(data.columns["words"].reshape(-1))


def test_a_step_moves_the_rows_of_its_batch_and_what_is_dense(rng):
    replica, data = loaded(bagged(Sgd(learning_rate=0.5))), batch(rng)
    ids = np.unique(data.columns["words"])
    before, params = words_of(replica, ids), replica.params.copy()
    replica.gradient(data)
    [(keys, slopes)], grad = replica.row_gradients, replica.grad.copy()
    replica.apply(replica.conf.rate_at(0, 0), 1)
    after = words_of(replica, ids)
    slopes = slopes[np.argsort(keys.ids)]
    np.testing.assert_allclose(after, before - 0.5 * slopes, atol=1e-6)
    np.testing.assert_allclose(replica.params, params - 0.5 * grad, atol=1e-6)
    assert len(replica.groups[0]) == len(ids)


def scored(column):
    """Returns `bagged` with a second table of dimension 1."""
    bags = [
        EmbeddingBag(name="words", dimension=4, width=3),
        EmbeddingBag(name="score", column=column, dimension=1, width=3, combine="mean"),
    ]
    merge = Vertex(name="all", layer=Merge(), inputs=("words", "score", "x"))
    return GraphConf(inputs={"x": (2,)}, bags=bags, vertices=[merge, VERTICES[1]])


def test_tables_that_read_the_same_ids_number_them_once(rng):
    data = batch(rng)
    columns = data.columns | {"others": data.columns["words"].copy()}
    together, apart = loaded(scored("words")), loaded(scored("others"))
    together.gradient(data)
    apart.gradient(replace(data, columns=columns))
    (first, second), separate = together.row_gradients, apart.row_gradients
    assert first.keys is second.keys and separate[0].keys is not separate[1].keys
    for own, other in zip((first, second), separate, strict=True):
        np.testing.assert_array_equal(own.keys.ids, other.keys.ids)
        np.testing.assert_array_equal(own.rows, other.rows)


def test_it_learns_what_only_ids_tell(rng):
    replica, data = loaded(bagged(Adam(learning_rate=0.05), combine="mean")), batch(rng, 32)
    data = data.replace(labels=(data.columns["words"][:, 0] % 2).astype(np.int32))
    data = data.replace(words=data.columns["words"][:, :1].repeat(3, 1) + 2**40)
    losses = [float(replica.step(data, replica.conf.rate_at(t, 0), t + 1)) for t in range(40)]
    assert losses[-1] < 0.2 * losses[0]
    _, each = replica.losses(data)
    assert each.sum() < losses[0]


def test_use_leaves_tables_alone_and_takes_any_ids(rng):
    replica, data = loaded(bagged()), batch(rng)
    prediction = replica.forward(data)["out"]
    assert prediction.shape == (8, 2) and len(replica.groups[0]) == 0


def test_loaded_tables_are_the_same_network(rng):
    one, data = loaded(bagged("adam")), batch(rng)
    one.step(data, one.conf.rate_at(0, 0), 1)
    two = loaded(one.conf, one.table_arrays())
    two.load(one.params, one.buffers, one.slots)
    for replica in (one, two):
        replica.step(data, replica.conf.rate_at(1, 0), 2)
    np.testing.assert_array_equal(one.forward(data)["out"], two.forward(data)["out"])


def test_loading_again_forgets_what_was_trained(rng):
    arrays = {}
    replica, data = loaded(bagged(), arrays), batch(rng)
    replica.step(data, replica.conf.rate_at(0, 0), 1)
    replica.load_tables(arrays)
    assert len(replica.groups[0]) == 0


def test_weights_are_a_column(rng):
    replica, data = loaded(bagged(weights="counts")), batch(rng)
    zero = data.replace(counts=np.zeros((8, 3), np.float32))
    none = data.replace(words=np.full((8, 3), -1), counts=np.ones((8, 3), np.float32))
    np.testing.assert_array_equal(replica.forward(zero)["out"], replica.forward(none)["out"])


def test_without_tables_it_refuses(rng):
    with pytest.raises(ConfigError, match="needs its tables, got none loaded"):
        make_replica(bagged(), "reference").forward(batch(rng))


def test_a_missing_column_is_named(rng):
    lacking = SimpleNamespace(columns={"x": np.zeros((1, 2), np.float32)})
    with pytest.raises(DataError, match="takes the column 'words', got \\['x'\\]"):
        loaded(bagged()).forward(lacking)


def test_it_computes_on_no_gpu():
    with pytest.raises(ConfigError, match='device must be "cpu" for a network with bags'):
        make_replica(bagged(), "cuda")


@pytest.mark.parametrize("name", ["ids", "epoch"])
def test_inputs_may_have_the_names_of_what_random_numbers_follow_from(name, rng):
    def gradient(bag, x):
        bags = [EmbeddingBag(name=bag, dimension=4, width=3, table="words")]
        everything = Vertex(name="all", layer=Merge(), inputs=(bag, x))
        conf = GraphConf(inputs={x: (2,)}, bags=bags, vertices=[everything, VERTICES[1]])
        replica, given = loaded(conf), data.columns
        names = {bag: given["words"], x: given["x"], "labels": given["labels"]}
        loss, _ = replica.gradient(Batch(columns=names, ids=data.ids))
        return loss, replica.grad.tolist(), replica.row_gradients[0].rows.tolist()

    data = batch(rng)
    assert gradient(name, "x") == gradient("words", name) == gradient("words", "x")
