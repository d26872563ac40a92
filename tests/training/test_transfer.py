"""Weights of one network in another: new output layers, layers of the same names."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError, UnsupportedError
from sparkdl.nn import (
    Activation,
    AdaGrad,
    BatchNorm,
    Dense,
    ElementWise,
    EmbeddingBag,
    GraphBuilder,
    LossLayer,
    NetworkConf,
    Output,
    RnnOutput,
    Sgd,
    TimeDistributed,
)
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network, first_state
from sparkdl.training.transfer import carry_weights, replace_output
from tests.support.tables import for_all
from tests.training.models import small_conf, state_of

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def graph(*ends):
    """A branch that joins, a second input that only "other" reads, and what `ends` says."""
    build = GraphBuilder(x=(4,), y=(3,))
    up = build.add(Dense(units=4, activation="relu"), "x", name="up")
    build.add(Dense(units=2), "y", name="other")
    build.add(ElementWise(operation="add"), "x", up, name="sum")
    for layer in ends:
        build.add(layer)
    return Network(conf := build.conf(seed=3, l2=0.1), state_of(conf, 1))


# A new output layer


def test_what_is_kept_gives_what_it_gave():
    network = graph(Output(units=5))
    new = replace_output(network, Output(units=2), optimizer="adam")
    assert [place.name for place in new.conf.stack] == ["up", "sum", "output_1"]
    assert (new.conf.input_shapes, new.conf.output_size) == ({"x": (4,)}, 2)
    assert (new.conf.l2, new.conf.seed, new.conf.optimizer.type_name) == (0.1, 3, "Adam")
    both = {"x": X, "y": np.zeros((6, 3), np.float32)}
    np.testing.assert_array_equal(
        new.features(X, ["sum"])["sum"], network.features(both, ["sum"])["sum"]
    )
    assert new.state.iteration == 0 and not new.state.slots.any()


def test_an_output_of_the_same_shape_begins_anew():
    network = Network(conf := small_conf(), state_of(conf))
    new = replace_output(network, Output(units=2))
    old, first = (network.conf.params_layout.views(n.state.params) for n in (network, new))
    assert (first["dense_1/W"] == old["dense_1/W"]).all()
    assert (first["output_1/W"] != old["output_1/W"]).all() and not first["output_1/b"].any()
    assert (new.state.buffers == network.state.buffers).all()


def ending(*layers):
    build = GraphBuilder(x=(4,))
    for layer in layers:
        build.add(layer)
    return Network(conf := build.conf(), state_of(conf))


SAME = {  # networks whose last layers a loss takes over, and the loss
    "softmax": (ending(Dense(units=3), Activation("softmax")), LossLayer()),
    "within": (ending(Dense(units=3, activation="softmax")), LossLayer()),
    "sigmoid": (
        ending(Dense(units=3, activation="sigmoid")),
        LossLayer(loss="sigmoid_cross_entropy"),
    ),
    "values": (ending(Dense(units=3, activation="tanh")), LossLayer(loss="mse")),
}


def test_a_loss_leaves_predictions_as_they_are():
    def check(name):
        network, layer = SAME[name]
        new, last = replace_output(network, layer), network.conf.stack[-1].name
        theirs = network.features(X, [last])[last]
        np.testing.assert_allclose(new.predict(X), theirs, rtol=1e-6)
        labels = np.eye(3, dtype=np.float32)[np.arange(6) % 3]
        labels = labels.argmax(1) if layer.loss.label_kind == "class" else labels
        assert np.isfinite(new.score((X, labels)))

    for_all(SAME, check)


def test_steps_of_sequences_end_in_a_softmax_too():
    build = GraphBuilder(x=(5, 4))
    build.add(TimeDistributed(layer=Dense(units=3, activation="softmax")), name="each")
    network = Network(build.conf())
    x = np.ones((2, 5, 4), np.float32)
    new = replace_output(network, LossLayer())
    np.testing.assert_allclose(new.predict(x), network.features(x, ["each"])["each"], rtol=1e-6)
    assert replace_output(network, RnnOutput(units=2), "each").conf.output_size == 2


REFUSED = {
    "layer must be an output layer, got Dense; give Output": (graph(Output(units=5)), Dense),
    "after must name a layer to keep, got None; give one of up, other, sum": (graph(), Output),
    r"got 'sun'; did you mean 'sum'": (graph(), lambda **_: (LossLayer(), "sun")),
}


def test_a_layer_that_cannot_be_read_is_refused():
    def check(words):
        network, make = REFUSED[words]
        made = make(units=2)
        given = made if isinstance(made, tuple) else (made,)
        with pytest.raises(ConfigError, match=words):
            replace_output(network, *given)

    for_all(REFUSED, check)


def test_a_softmax_that_others_share_is_refused():
    build = GraphBuilder(x=(4,))
    first = build.add(Dense(units=4, activation="softmax"), name="one")
    build.add(Dense(units=4, activation="softmax"), first, name="two", shares="one")
    with pytest.raises(UnsupportedError, match="softmax that nothing else reads"):
        replace_output(Network(build.conf()), LossLayer())


def test_a_network_without_an_output_layer_says_how_to_get_one(crews):
    network, data = ending(Dense(units=3)), (X, np.zeros(6))
    for use in (network.evaluate, partial(network.fit, workers=crews(2))):
        with pytest.raises(ConfigError, match=r"no output layer.*replace_output"):
            use(data)


# From network to network


CONF = NetworkConf(
    input_shape=(3,),
    layers=[Dense(units=2, name="one"), BatchNorm(name="norm"), Output(units=2, name="out")],
    optimizer=Sgd(learning_rate=0.1),
)


def test_a_network_takes_over_the_weights_of_another():
    other = NetworkConf(
        input_shape=(3,),
        layers=[Dense(units=2, name="one"), BatchNorm(name="new"), Output(units=2, name="out")],
    )
    state, start = state_of(CONF), first_state(other)
    found = carry_weights(CONF, state, other, start)
    old, new = CONF.params_layout.views(state.params), other.params_layout.views(found.params)
    assert all((new[name] == old[name]).all() for name in new if not name.startswith("new"))
    assert (new["new/gamma"] == 1).all() and not new["new/beta"].any()
    assert found.buffers.tobytes() == start.buffers.tobytes()
    same = carry_weights(CONF, state, CONF, first_state(CONF))
    assert same.params.tobytes() == state.params.tobytes()
    assert same.buffers.tobytes() == state.buffers.tobytes()


def test_networks_whose_arrays_differ_in_shape_are_refused():
    other = NetworkConf(input_shape=(3,), layers=[Output(units=5, name="out")])
    with pytest.raises(ShapeError, match="out/.* must have one shape"):
        carry_weights(CONF, first_state(CONF), other, first_state(other))


# Rows of tables

ADA_GRAD = AdaGrad(learning_rate=0.5, initial_accumulator=0.5)
USERS, LABELS = np.arange(48)[:, None] % 8, np.arange(48) % 2


def of_users(**options):
    build = GraphBuilder()
    build.add(Dense(units=3, activation="tanh"), "user", name="up")
    build.add(Output(units=2))
    bag = EmbeddingBag(name="user", column="id", dimension=3, **options)
    return Network(build.conf(bags=[bag], optimizer=ADA_GRAD, seed=3))


WAYS = {  # options of the bag, of the master, of the new network
    "whole": ({}, {}, {}),
    "counted": ({"min_updates": 2, "expire_after": 4}, {}, {}),
    "another optimizer": ({}, {}, {"optimizer": "adam"}),
    "in files": ({}, {"tables": "sharded"}, {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_tables_go_along_and_train_on(way, crews, tmp_path):
    bag, sharded, options = WAYS[way]
    folder = {"table_folder": str(tmp_path / "rows")} if sharded else {}
    master = AllReduceSGD(batch_size_per_worker=6, **sharded, **folder)
    network, x = of_users(**bag), {"id": USERS[:8]}
    network.fit(({"id": USERS}, LABELS), 5, master, crews(2))
    known = network.features(x, "up")["up"]
    assert np.abs(known - of_users(**bag).features(x, "up")["up"]).max() > 0.1
    new = replace_output(network, Output(units=3), **options)
    new.save(tmp_path / "new")
    for one in (new, Network.load(tmp_path / "new")):
        np.testing.assert_array_equal(one.features(x, "up")["up"], known)
        before = one.score(({"id": USERS}, LABELS + 1))
        one.fit(({"id": USERS}, LABELS + 1), 5, AllReduceSGD(batch_size_per_worker=6), crews(2))
        assert one.score(({"id": USERS}, LABELS + 1)) < before - 0.1
        assert (one.features(x, "up")["up"] != known).any()


def test_what_an_optimizer_keeps_of_rows_begins_anew(crews):
    network = of_users(min_updates=2, expire_after=4)
    network.fit(({"id": USERS}, LABELS), 5, AllReduceSGD(batch_size_per_worker=6), crews(2))
    old, new = network.state.tables, replace_output(network, Output(units=2)).state.tables
    assert (old["user/square"] > 0.5).all() and (new["user/square"] == 0.5).all()
    for name in ("ids", "rows"):
        np.testing.assert_array_equal(new[f"user/{name}"], old[f"user/{name}"])
    assert len(new["user/ids"]) == 8 and not new["user/last"].any() and old["user/last"].all()


def test_rows_of_another_dimension_are_refused(crews):
    network = of_users()
    other = replace(network.conf, bags=[replace(network.conf.bags[0], dimension=2)])
    network.fit(({"id": USERS}, LABELS), 1, AllReduceSGD(), crews(2))
    with pytest.raises(ConfigError, match="EmbeddingBag.dimension must be 3 for tab"):
        carry_weights(network.conf, network.state, other, first_state(other))
