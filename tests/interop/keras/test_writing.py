"""Networks written for Keras, against Keras, and after they are read back."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.keras import read_keras, write_keras
from sparkdl.nn import (
    AdaGrad,
    Adam,
    AdamHat,
    Dense,
    GraphBuilder,
    Momentum,
    NetworkConf,
    Output,
    RmsProp,
    zoo,
)
from sparkdl.nn.layers import (
    LRN,
    LSTM,
    AvgPool2D,
    BatchNorm,
    Bidirectional,
    Conv2D,
    Dropout,
    EmbeddingSequence,
    Frozen,
    MaxPool2D,
    Merge,
    MultiHeadAttention,
    RnnOutput,
    TimeDistributed,
)
from sparkdl.training.network import Network
from tests.interop.keras.layer_table import CASES, made
from tests.interop.keras.model_table import MODELS, built
from tests.interop.keras.models import answer, chain, drawn, keras, train
from tests.interop.keras.test_reader import OPTIMIZERS, compiled, features_of, given_to
from tests.support.tables import for_all, in_parts

# Keras has a layer of factors alone only inside its own models.
WRITABLE = {name: case for name, case in CASES.items() if name != "layer scale"}


def again(network, folder, outputs=None, **options):
    """Writes a network and returns the model that Keras loads."""
    write_keras(network, folder / "written.keras", outputs, **options)
    return keras.models.load_model(folder / "written.keras")


def check_same(one, other, rtol=1e-5):
    one, other = ([x] if not isinstance(x, list) else x for x in (one, other))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("names", in_parts(WRITABLE))
def test_layers_come_back_to_keras(names, tmp_path):
    def check(name):
        layer, shape = CASES[name]
        model = chain(made(layer), shape=shape)
        x = drawn(2, 3, *shape)
        x = np.floor(np.abs(x) * 3) if name == "embedding" else x
        back = again(read_keras(model).network, tmp_path)
        check_same(answer(back, x), answer(model, x))

    for_all(names, check)


@pytest.mark.slow
@pytest.mark.parametrize("names", in_parts(MODELS, quick=2))
def test_models_come_back_to_keras(names, tmp_path):
    def check(name):
        model, shapes = built(name)
        features = features_of(name, shapes)
        x = features if len(features) > 1 else features[0]
        net = read_keras(model)
        back, expected = again(net.network, tmp_path, net.outputs), answer(model, x)
        check_same(answer(back, x), expected)
        once_more = read_keras(str(tmp_path / "written.keras"))
        check_same(once_more.run(given_to(back, features)), expected)

    for_all(names, check)


@pytest.mark.slow
def test_training_goes_on_in_keras(tmp_path):
    """The loss, penalties, optimizer and its state are written."""

    def check(name):
        model = compiled(OPTIMIZERS[name]())
        x, y = drawn(1, 8, 6, 7, 2), np.arange(8, dtype=np.int32) % 4
        network = read_keras(model).network
        train(network, x, y, 2)
        back = again(network, tmp_path)
        train(network, x, y, 2)
        for _ in range(2):
            back.train_on_batch(x, y)
        np.testing.assert_allclose(answer(back, x), network.predict(x), rtol=1e-3, atol=1e-4)

    for_all(OPTIMIZERS, check)


ZOO = ["lenet", "cifar10_quick"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_networks_of_the_zoo(name, tmp_path):
    """The written models take images channels first, as ours do."""
    network = Network(getattr(zoo, name)())
    x = drawn(1, 2, *network.conf.input_shape)
    back = again(network, tmp_path, compiled=False)
    check_same(answer(back, x), network.predict(x))
    ours = read_keras(str(tmp_path / "written.keras"))
    check_same(ours.run(x), network.predict(x))


def branches():
    """Returns a network with two inputs and outputs, shared layers, padding and a leaky ReLU."""
    build = GraphBuilder()
    build.inputs = {"image": (2, 4, 4), "row": (3,)}
    leaky = {"type": "leaky_relu", "alpha": 0.3}
    conv = Conv2D(filters=2, kernel_size=3, padding=(2, 1), activation=leaky)
    one = build.add(conv, "image", name="conv/1")
    two = build.add(conv, one, name="conv/2", shares="conv/1")
    flat = build.add(Dense(units=4, l2=0.1), build.add(BatchNorm(name="norm"), two), name="flat")
    both = build.add(Merge(name="both"), flat, "row")
    build.add(Output(name="kind", units=3), build.add(Dropout(rate=0.5), both))
    build.add(Output(name="size", units=1, loss="mse"), both)
    return Network(build.conf(optimizer={"type": "sgd", "learning_rate": 0.1}))


@pytest.mark.slow
@pytest.mark.parametrize("asked", [None, "norm", ["size", "flat"]], ids=str)
def test_any_layers_of_a_graph(asked, tmp_path):
    network = branches()
    x = {"image": drawn(1, 3, 2, 4, 4), "row": drawn(2, 3, 3)}
    back = again(network, tmp_path, asked)
    names = [asked] if asked == "norm" else asked or ["kind", "size"]
    expected = network.features(x, names)
    check_same(answer(back, list(x.values())), [expected[name] for name in names])
    assert back.compiled == (asked != "norm")


def layers(*given, shape=(3, 8, 8), **options):
    return Network(NetworkConf(input_shape=shape, layers=list(given), **options))


def test_what_has_no_twin_is_named_at_once_and_nothing_is_written(tmp_path):
    network = layers(
        LRN(name="norm"),
        Conv2D(name="conv", filters=2, kernel_size=2, rate_factor=2.0),
        MaxPool2D(name="pool", size=2, padding=1),
        AvgPool2D(name="ceil", size=3, stride=3, rounding="ceil"),
        Frozen(name="still", layer=Dropout(rate=0.5)),
        Output(units=3),
    )
    with pytest.raises(UnsupportedError) as error:
        write_keras(network, tmp_path / "a.keras")
    assert str(error.value).splitlines()[1:] == [
        "  norm (LRN): Keras has no layer of this kind",
        "  pool (MaxPool2D): padding=1 is not supported",
        "  ceil (AvgPool2D): padding=0 with rounding='ceil' is not supported",
        "  conv (Conv2D): rate_factor=2.0 is not supported",
        "  still (Frozen): a Dropout of Keras cannot be frozen",
    ]
    network = layers(Conv2D(filters=2, kernel_size=2, rate_factor=2.0), Output(units=3))
    assert not list(tmp_path.iterdir())
    assert write_keras(network, tmp_path / "a.keras", compiled=False) == []


WRITTEN_OPTIMIZERS = [
    AdaGrad(learning_rate=0.125, initial_accumulator=0.2, epsilon=0.01, epsilon_in_root=True),
    RmsProp(learning_rate=0.125, decay=0.8, epsilon=0.01, epsilon_in_root=True, weight_decay=0.1),
    Momentum(learning_rate=0.125, momentum=0.5, weight_decay=0.1),
    AdamHat(learning_rate=0.125, weight_decay=0.1),
]


@pytest.mark.parametrize("ours", WRITTEN_OPTIMIZERS, ids=str)
def test_optimizers_come_back(ours, tmp_path):
    network = layers(Output(units=3), shape=(4,), optimizer=ours)
    write_keras(network, tmp_path / "a.keras")
    theirs = keras.models.load_model(tmp_path / "a.keras")
    assert theirs.compiled and (theirs.optimizer.weight_decay or 0.0) == ours.weight_decay
    assert read_keras(theirs).network.conf.optimizer == ours


@pytest.mark.parametrize("ours", [RmsProp(), AdaGrad()], ids=str)
def test_an_epsilon_outside_the_root_is_a_note(ours, tmp_path):
    network = layers(Output(units=3), shape=(4,), optimizer=ours)
    [note] = write_keras(network, tmp_path / "a.keras")
    assert "is not supported" in note


def test_keras_masks_no_id_but_0(tmp_path):
    words = EmbeddingSequence(name="words", vocabulary_size=5, units=2, padding_id=1)
    network = layers(words, RnnOutput(units=3), shape=(4, 1))
    with pytest.raises(UnsupportedError, match=r"words .*: padding_id=1 is not supported; Keras"):
        write_keras(network, tmp_path / "a.keras")


@pytest.mark.slow
def test_a_loss_or_an_optimizer_without_a_twin_is_a_note(tmp_path):
    network = layers(Output(units=3), shape=(4,), optimizer=Adam())
    [note] = write_keras(network, tmp_path / "a.keras")
    assert "the optimizer Adam is not supported" in note
    model = keras.models.load_model(tmp_path / "a.keras")
    assert not model.compiled and model.count_params() == 15


def test_an_average_of_the_weights_is_a_note(tmp_path):
    optimizer = Momentum(learning_rate=0.1, ema_decay=0.9)
    network = layers(Output(units=3), shape=(4,), optimizer=optimizer)
    [note] = write_keras(network, tmp_path / "a.keras")
    assert "ema_decay=0.9" in note and "with_averaged_weights" in note
    model = keras.models.load_model(tmp_path / "a.keras")
    assert model.compiled and model.optimizer.momentum == 0.9 and not model.optimizer.use_ema
    assert len(model.optimizer.variables) == 2 + 2, "counts and rate, and a velocity of each array"


FROZEN = {
    "two directions": Bidirectional(layer=LSTM(units=3)),
    "steps": TimeDistributed(layer=Dense(units=3)),
    "a layer": Dense(units=3),
}


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_frozen_stays_so_in_keras(name, tmp_path):
    build = GraphBuilder(x=(5, 4))
    build.add(Frozen(layer=FROZEN[name]), "x", name="y")
    back = again(Network(build.conf()), tmp_path)
    assert back.weights and not back.trainable_weights


@pytest.mark.slow
def test_frozen_attention_is_for_predictions_alone(tmp_path):
    """Loading makes Keras train the layers inside it again."""
    build = GraphBuilder(x=(5, 4))
    attention = Frozen(layer=MultiHeadAttention(heads=2, head_size=2))
    build.add(attention, "x", "x", "x", name="y")
    network, x = Network(build.conf()), drawn(1, 2, 5, 4)
    with pytest.raises(UnsupportedError, match="y .*Frozen is not supported.*compiled=False"):
        write_keras(network, tmp_path / "a.keras")
    back = again(network, tmp_path, compiled=False)
    check_same(answer(back, x), network.features(x, ["y"])["y"])


def test_more_updates_than_keras_counts_are_refused(tmp_path):
    network = Network(NetworkConf(input_shape=(3,), layers=[Output(units=2, loss="mse")]))
    network.state = replace(network.state, iteration=2**31)
    with pytest.raises(UnsupportedError, match="at most 2147483647 updates .* compiled=False"):
        write_keras(network, tmp_path / "a.keras")
    write_keras(network, tmp_path / "a.keras", compiled=False)


def test_an_unknown_layer_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nothing"):
        write_keras(branches(), tmp_path / "net.keras", ["nothing"])
