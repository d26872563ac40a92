"""A Keras model trains under every master as Keras itself trains it on the joint batch."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.keras.live import KerasModel
from sparkdl.nn import Adam, Momentum, Sgd, conf_from_json
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network
from tests.interop.keras.live.models import Partitions, cnn, model, numbers, whole_cnn
from tests.interop.keras.models import keras, train
from tests.training.master_table import (
    JOINT,
    MASTERS,
    WHOLE,
    assert_close,
    by_kind,
    joint_batches,
)
from tests.training.models import assert_equal
from tests.training.problems import UNEVEN

OPTIMIZERS = {
    "Sgd": lambda rate: keras.optimizers.SGD(rate),
    "Momentum": lambda rate: keras.optimizers.SGD(rate, momentum=0.9),
    "AdamHat": lambda rate: keras.optimizers.Adam(rate),
}


def fit(conf, master, workers, data, epochs=2):
    network = Network(conf)
    network.fit(data, epochs, master, workers)
    return network


def first_model(conf):
    """Returns the model with the initial values of the network."""
    keras.utils.set_random_seed(conf.seed)
    return conf.make()


def vector_of(model):
    return np.concatenate([numbers(v).ravel() for v in model.trainable_variables])


@pytest.mark.slow
@pytest.mark.parametrize("name", by_kind([name for name in JOINT if name in WHOLE]))
def test_updates_are_those_of_keras_on_the_joint_batch(name, crews):
    row, workers, data = MASTERS[name], crews(2), Partitions(UNEVEN)
    master = replace(row.master, **row.joint)
    rule = row.optimizer if not isinstance(row.optimizer, Adam) else Sgd()
    optimizer = replace(rule, learning_rate=0.05)
    conf = model(optimizer=optimizer)
    network = fit(conf, master, workers, data, epochs=1)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    theirs = first_model(conf)
    theirs.compile(
        OPTIMIZERS[type(optimizer).__name__](0.05),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        run_eagerly=False,
    )
    for batch in joint_batches(master, blocks, workers, conf, 0):
        theirs.train_on_batch(batch.features, batch.labels.astype(np.int32))
    assert_close(network.state.params, vector_of(theirs))
    assert np.abs(network.state.params - vector_of(first_model(conf))).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
def test_a_seed_gives_the_same_bits_twice(name, crews):
    """Even with dropout and batch statistics."""
    data, master = Partitions(UNEVEN), MASTERS[name].master
    conf = model(whole_cnn, optimizer=Momentum(learning_rate=0.05))
    one, two = (fit(conf, master, crews(2), data, 1).state for _ in range(2))
    assert_equal(one, two)
    assert np.abs(one.buffers[:3]).max() > 0, "running means have moved"


def test_dropout_differs_between_batches():
    conf = model(lambda: cnn(dropout=0.5))
    replica, data = Network(conf).replica, Partitions([8])
    [batch] = data.read(data.splits()[0])
    losses = [replica.gradient(batch, epoch)[0] for epoch in (0, 1, 0)]
    assert losses[0] == losses[2] != losses[1]


def padded():
    """Returns a model of sequences in which id 0 is padding."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            layers.Embedding(9, 4, mask_zero=True),
            layers.LSTM(4, return_sequences=True),
            layers.Dense(3),
        ]
    )


def words():
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 9, (8, 5))
    ids[:3, 2:] = 0
    return ids, rng.integers(0, 3, (8, 5))


def model_of_words(**options):
    rule = Momentum(learning_rate=0.5)
    return KerasModel(
        make=padded, input_shape=(5,), input_type="int64", optimizer=rule, seed=3, **options
    )


@pytest.mark.slow
def test_steps_that_keras_masks_do_not_count():
    (ids, labels), conf = words(), model_of_words()
    network, theirs = Network(conf), first_model(conf)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    theirs.compile(OPTIMIZERS["Momentum"](0.5), loss)
    result, logits = network.evaluate((ids, labels)), numbers(theirs(ids))
    expected = (logits.argmax(-1) == labels)[ids > 0].mean()
    assert result.accuracy == pytest.approx(expected)
    assert network.evaluate((ids, labels), output="output").figures() == result.figures()
    train(network, ids, labels, 3)
    losses = [float(theirs.train_on_batch(ids, labels)) for _ in range(3)]
    assert result.loss == pytest.approx(losses[0], rel=1e-5)
    assert_close(network.state.params, vector_of(theirs), 1e-5)
    assert conf_from_json(conf.to_json()).masked is True


@pytest.mark.slow
def test_a_mask_of_the_labels_goes_before_that_of_keras():
    (ids, labels), conf = words(), model_of_words()
    rows, ones = np.arange(8, dtype=np.uint64), np.ones((8, 5), np.float32)
    batch = Batch(columns={"features": ids, "labels": labels}, ids=rows)
    of_all = Batch(columns={**batch.columns, "labels_mask": ones}, ids=rows)
    losses = [
        Network(one).replica.gradient(given)[0]
        for one, given in (
            (conf, batch),
            (conf, of_all),
            (model_of_words(masked=False), batch),
        )
    ]
    assert losses[0] != pytest.approx(losses[1]) and losses[1] == pytest.approx(losses[2])


@pytest.mark.parametrize("wrong", [2**31, -(2**31) - 1])
def test_ids_that_keras_would_wrap_are_refused(wrong):
    """Keras's backends compute with int32: id 2^32 + 1 would be looked up as 1."""
    (ids, labels), network = words(), Network(model_of_words())
    ids[4, 3] = wrong
    batch = Batch(columns={"features": ids, "labels": labels}, ids=np.arange(8, dtype=np.uint64))
    for compute in (network.replica.gradient, network.replica.losses, network.predict):
        with pytest.raises(DataError, match=f"ids of int32, as Keras's backends do, got .*{wrong}"):
            compute(ids if compute == network.predict else batch)


def test_what_it_cannot_do_is_refused(crews):
    with pytest.raises(ConfigError, match="shard must be None with a KerasModel"):
        fit(model(), AllReduceSGD(shard="optimizer"), crews(2), Partitions([8]))
