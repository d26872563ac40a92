"""Weights of one network in another: new output layers, and layers with equal names."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError, UnsupportedError
from sparkdl.nn import (
    Activation,
    AdaGrad,
    AlphaDropout,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    ElementWise,
    EmbeddingBag,
    Flatten,
    Frozen,
    GaussianNoise,
    GraphBuilder,
    LossLayer,
    Momentum,
    NetworkConf,
    Output,
    Permute,
    Reshape,
    RnnOutput,
    Sgd,
    StopGradient,
    TimeDistributed,
    VariationalAutoencoder,
)
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network, first_state
from sparkdl.training.transfer import carry_weights, replace_optimizer, replace_output
from tests.support.tables import for_all
from tests.training.models import small_conf, state_of

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def graph(*ends):
    """Returns a graph with a residual branch, an input read by "other" alone, and layers `ends`."""
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


def ending(*layers, shape=(4,), **options):
    build = GraphBuilder(x=shape)
    for layer in layers:
        build.add(layer)
    return Network(conf := build.conf(**options), state_of(conf))


SAME = {  # networks whose last activation moves into a loss, and the loss
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


THREE, SOFTMAX, STEPS, IMAGES = Dense(units=3), Activation("softmax"), (5, 4), (2, 4, 5)
BEHIND = {  # networks whose softmax is not the last layer, or inside another one
    "identity": ending(THREE, SOFTMAX, Activation("identity")),
    "dropout": ending(Dense(units=3, activation="softmax"), Dropout(rate=0.5)),
    "noise": ending(THREE, SOFTMAX, GaussianNoise(std=0.5), AlphaDropout(rate=0.5)),
    "frozen dropout": ending(THREE, SOFTMAX, Frozen(layer=Dropout(rate=0.5))),
    "flat": ending(THREE, SOFTMAX, Flatten()),
    "reshaped": ending(THREE, Reshape(shape=(1, 3)), SOFTMAX, Flatten(), StopGradient()),
    "of the network": ending(THREE, activation="softmax"),
    "frozen": ending(THREE, Frozen(layer=SOFTMAX)),
    "each step": ending(THREE, TimeDistributed(layer=SOFTMAX), shape=STEPS),
    "images": ending(Conv2D(filters=3, kernel_size=1, activation="softmax"), shape=IMAGES),
    "images, then images": ending(SOFTMAX, Reshape(shape=(2, 5, 4)), shape=IMAGES),
    "an image of one pixel": ending(
        Conv2D(filters=3, kernel_size=(4, 5), activation="softmax"),
        Permute(order=(1, 2, 0)),
        Flatten(),
        shape=IMAGES,
    ),
    "images, then steps": ending(
        SOFTMAX, Permute(order=(1, 2, 0)), Reshape(shape=(20, 2)), shape=IMAGES
    ),
    "images of one step": ending(
        TimeDistributed(layer=SOFTMAX), Reshape(shape=IMAGES), shape=(1, *IMAGES)
    ),
}
OTHERS = {  # losses that also apply softmax
    "kl_divergence": LossLayer(loss="kl_divergence"),
    "infogain": LossLayer(loss={"type": "infogain", "gain": np.eye(3).tolist()}),
}


def test_a_softmax_is_not_taken_twice_wherever_it_stands():
    def check(name):
        network = BEHIND[name]
        [shape], last = network.conf.input_shapes.values(), network.conf.stack[-1].name
        x = 3 * np.random.default_rng(1).normal(size=(6, *shape)).astype(np.float32)
        theirs = network.features(x, last)[last]
        new = replace_output(network, LossLayer())
        np.testing.assert_allclose(new.predict(x), theirs, rtol=1e-5, atol=1e-7)

    for_all(BEHIND, check)


def test_other_losses_take_a_softmax_over_too():
    def check(name):
        network = ending(THREE, SOFTMAX)
        new, last = replace_output(network, OTHERS[name]), network.conf.stack[-1].name
        np.testing.assert_allclose(new.predict(X), network.features(X, last)[last], rtol=1e-6)

    for_all(OTHERS, check)


CHANNELS, EACH = Conv2D(filters=3, kernel_size=1, activation="softmax"), (2, *IMAGES)
ACROSS = {  # networks whose softmax is over other axes than the loss's, and the error
    "images as steps": (
        ending(CHANNELS, Reshape(shape=(3, 20)), shape=IMAGES),
        r"softmax over 20 units of reshape_1 \(3, 20\), where conv2d_1 has taken it over 3 oth",
    ),
    "images in steps": (
        ending(TimeDistributed(layer=CHANNELS), shape=EACH),
        r"over 2 units of timedistributed_1 .* has taken it over 3 others, of \(2, 3, 4, 5\)",
    ),
    "another order": (
        ending(Dense(units=3), SOFTMAX, Permute(order=(1, 0)), shape=(3, 4)),
        r"over 3 units of permute_1 \(3, 3\), where activation_1 has taken it over 3 others",
    ),
    "dropout in steps": (
        ending(
            *(TimeDistributed(layer=one) for one in (THREE, SOFTMAX, Dropout(rate=0.5))),
            shape=(2, *STEPS),
        ),
        r"softmax over 2 units of timedistributed_3 \(2, 5, 3\), where timedistributed_2 has",
    ),
}


def test_a_softmax_over_other_numbers_than_the_loss_takes_is_refused():
    def check(name):
        network, words = ACROSS[name]
        [shape] = network.conf.input_shapes.values()
        with pytest.raises(UnsupportedError, match=words):
            replace_output(network, LossLayer())
        new = replace_output(network, LossLayer(loss="mse"))
        assert new.predict(np.ones((1, *shape))).any()

    for_all(ACROSS, check)


def test_a_function_within_a_layer_stays():
    network = ending(VariationalAutoencoder(units=3, activation="sigmoid", name="code"))
    new = replace_output(network, LossLayer(loss="sigmoid_cross_entropy"))
    ours, theirs = (net.features(X, "code")["code"] for net in (new, network))
    np.testing.assert_array_equal(ours, theirs)


def test_steps_of_sequences_end_in_a_softmax_too():
    build = GraphBuilder(x=(5, 4))
    build.add(TimeDistributed(layer=Dense(units=3, activation="softmax")), name="each")
    network = Network(build.conf())
    x = np.ones((2, 5, 4), np.float32)
    new = replace_output(network, LossLayer())
    np.testing.assert_allclose(new.predict(x), network.features(x, ["each"])["each"], rtol=1e-6)
    assert replace_output(network, RnnOutput(units=2), "each").conf.output_size == 2


class OfNetwork:
    """An object with a network, like a SparkNetwork."""

    network = graph()


REFUSED = {
    "layer must be an output layer, got Dense; give Output": (graph(Output(units=5)), Dense),
    "after must name a layer to keep, got None; give one of up, other, sum": (graph(), Output),
    r"got 'sun'; did you mean 'sum'": (graph(), lambda **_: (LossLayer(), "sun")),
    r"got 'output_1'; give one of up, other, sum": (
        graph(Output(units=5)),
        lambda **_: (LossLayer(), "output_1"),
    ),
    "network must be a Network, got GraphConf; give Network": (graph().conf, Output),
    "network must be a Network, got OfNetwork; give its .network": (OfNetwork(), Output),
}


def test_a_layer_that_cannot_be_read_is_refused():
    def check(words):
        network, make = REFUSED[words]
        made = make(units=2)
        given = made if isinstance(made, tuple) else (made,)
        with pytest.raises(ConfigError, match=words):
            replace_output(network, *given)

    for_all(REFUSED, check)


@pytest.mark.parametrize("name", ["inputs", "layers"])
def test_the_layers_of_the_network_are_no_options(name):
    with pytest.raises(ConfigError, match=f"replace_output.{name} must be left out"):
        replace_output(graph(Output(units=5)), Output(units=2), **{name: ()})


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


def test_of_twins_one_alone_is_kept_with_the_weights_that_they_share():
    build = GraphBuilder(p=(4,), q=(4,), r=(4,))
    for name in ("p", "q", "r"):
        shares = None if name == "p" else "of_p"
        build.add(Dense(units=3, activation="relu"), name, name=f"of_{name}", shares=shares)
        build.add(BatchNorm(), name=f"norm_{name}", shares=shares and "norm_p")
    build.add(ElementWise(operation="add"), "norm_q", "norm_r", name="both")
    build.add(ElementWise(operation="add"), "norm_p", "both", name="all")
    build.add(Output(units=2))
    network = Network(conf := build.conf(), state_of(conf))
    for layer, columns in {"norm_q": "q", "both": "qr", "all": "pqr"}.items():
        new = replace_output(network, Output(units=5), layer)
        assert [*new.conf.input_shapes] == [*columns]
        x = dict(zip(columns, (X, X + 1, X + 2)))
        theirs = network.features({"p": X, "q": X, "r": X} | x, layer)[layer]
        ours = new.features(x if len(x) > 1 else X, layer)[layer]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        assert new.conf.parameter_count == 4 * 3 + 3 + 2 * 3 + 3 * 5 + 5


def test_weights_shared_with_another_kind_of_twin_need_that_one():
    build = GraphBuilder(p=(4,), q=(4,))
    build.add(Dense(units=3, activation="relu"), "p", name="of_p")
    build.add(Dense(units=3), "q", name="of_q", shares="of_p")
    network = Network(conf := build.conf(), state_of(conf))
    assert [*replace_output(network, Output(units=5), "of_q").conf.input_shapes] == ["p", "q"]


# A new optimizer


@pytest.mark.slow
def test_another_optimizer_begins_anew_on_all_weights(crews):
    """Its first step matches AdaGrad's formula for a softmax regression."""
    layers, y = [Output(units=3)], np.arange(6) % 3
    conf = NetworkConf(input_shape=(4,), layers=layers, optimizer=Momentum(learning_rate=0.5))
    network, master = Network(conf), AllReduceSGD(batch_size_per_worker=6)
    network.fit((X, y), 3, master, crews(1))
    new = replace_optimizer(network, AdaGrad(learning_rate=0.1, initial_accumulator=0.2))
    np.testing.assert_array_equal(new.predict(X), network.predict(X))
    assert (new.state.iteration, new.conf.seed) == (0, conf.seed)
    error = (network.predict(X) - np.eye(3)[y]) / 6
    grads = {"output_1/W": X.T @ error, "output_1/b": error.sum(axis=0)}
    before = conf.params_layout.views(network.state.params)
    new.fit((X, y), 1, master, crews(1))
    for name, now in conf.params_layout.views(new.state.params).items():
        step = 0.1 * grads[name] / np.sqrt(0.2 + grads[name] ** 2)
        np.testing.assert_allclose(now, before[name] - step, rtol=1e-5, atol=1e-6)


def test_a_network_whose_optimizer_was_changed_says_what_to_do(crews):
    network = Network(CONF)
    network.conf = replace(CONF, optimizer=AdaGrad(learning_rate=0.5))
    with pytest.raises(ConfigError, match="of Sgd for .*; replace_optimizer"):
        network.fit((X[:, :3], np.arange(6) % 2), workers=crews(2))


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


@pytest.mark.slow
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


@pytest.mark.slow
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
