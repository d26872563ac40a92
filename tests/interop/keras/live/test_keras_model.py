"""Keras models as networks: predictions, saving, getting the model back, refused models."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.interop.keras.live import KerasModel, trained_model
from sparkdl.nn import Momentum, NetworkConf, Output, Sgd, conf_from_json
from sparkdl.training.network import Network
from sparkdl.training.workers.fork_server.own_server import SERVER
from tests.interop.keras.live.models import Partitions, cnn, model, numbers, whole_cnn
from tests.interop.keras.models import drawn, keras, train
from tests.training.workers.fork_server.asked import Asked

L = keras.layers


@pytest.mark.slow
def test_predictions_are_those_of_keras():
    conf, data = model(), Partitions([37])
    keras.utils.set_random_seed(conf.seed)
    logits = numbers(cnn()(data.features))
    network = Network(conf)
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(network.predict(data.features), expected, rtol=1e-4, atol=1e-6)
    loss = -np.log(expected[np.arange(37), data.labels]).mean()
    result = network.evaluate((data.features, data.labels))
    assert result.loss == pytest.approx(loss, rel=1e-5)
    assert result.accuracy == np.mean(expected.argmax(1) == data.labels)


def places(*shape):
    """Returns a function that builds a model with logits of three classes per pixel."""
    return lambda: keras.Sequential([keras.Input(shape), L.Conv2D(3, 3, padding="same")])


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(5, 4, 2), (3, 3, 3)], ids=str)
def test_classes_of_places_are_those_of_keras(shape):
    """Even if the numbers of rows, columns and classes are equal."""
    x, labels = drawn(1, 6, *shape), np.random.default_rng(2).integers(0, 3, (6, *shape[:2]))
    conf = KerasModel(make=places(*shape), input_shape=shape, optimizer=Sgd(learning_rate=0.5))
    network = Network(conf)
    assert conf.output_shape == (3, *shape[:2])
    theirs = trained_model(network)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    theirs.compile(keras.optimizers.SGD(0.5), loss)
    given = np.exp(numbers(theirs(x)))
    expected = np.moveaxis(given / given.sum(-1, keepdims=True), -1, 1)
    np.testing.assert_allclose(network.predict(x), expected, rtol=1e-4, atol=1e-6)
    result = network.evaluate((x, labels))
    assert result.accuracy == pytest.approx(np.mean(expected.argmax(1) == labels))
    train(network, x, labels, 2)
    losses = [float(theirs.train_on_batch(x, labels)) for _ in range(2)]
    assert result.loss == pytest.approx(losses[0], rel=1e-5)
    for ours, variable in zip(arrays_of(network), theirs.trainable_variables, strict=True):
        np.testing.assert_allclose(ours, numbers(variable), rtol=1e-4, atol=1e-6)


def arrays_of(network):
    return network.conf.params_layout.views(network.state.params).values()


@pytest.mark.slow
def test_a_mask_of_examples_is_refused_unless_it_is_left_out():
    def make():
        return keras.Sequential([keras.Input((4,)), L.Masking(), L.Dense(3)])

    conf, x = KerasModel(make=make, input_shape=(4,)), drawn(1, 5, 4)
    with pytest.raises(ConfigError, match="take masked=False"):
        Network(conf).evaluate((x, np.zeros(5, int)))
    conf = KerasModel(make=make, input_shape=(4,), masked=False)
    assert Network(conf).evaluate((x, np.zeros(5, int))).examples == 5


def test_images_with_channels_in_front_stay_so():
    def make():
        conv = L.Conv2D(5, 1, data_format="channels_first")
        return keras.Sequential([keras.Input((2, 4, 3)), conv])

    assert KerasModel(make=make, input_shape=(2, 4, 3)).output_shape == (5, 4, 3)


def test_a_new_model_begins_with_what_its_function_gives_now(tmp_path):
    path = tmp_path / "kernel.npy"

    def make():
        made = keras.Sequential([keras.Input((2,)), L.Dense(1, use_bias=False)])
        made.layers[0].kernel.assign(np.load(path))
        return made

    for value in (1, 5):
        np.save(path, np.full((2, 1), value, np.float32))
        network = Network(KerasModel(make=make, input_shape=(2,), loss="mse"))
        np.testing.assert_array_equal(network.state.params, [value, value])


@pytest.mark.slow
def test_a_trained_model_is_saved_loaded_and_given_back(tmp_path):
    network = Network(model(whole_cnn, optimizer=Momentum(learning_rate=0.05)))
    [batch] = [Partitions([12])]
    network.fit((batch.features, batch.labels), epochs=1)
    network.save(tmp_path / "model")
    again = Network.load(tmp_path / "model")
    assert again.conf == network.conf
    found = network.predict(batch.features)
    np.testing.assert_array_equal(again.predict(batch.features), found)
    trained_model(network).save(tmp_path / "model.keras")
    theirs = keras.models.load_model(tmp_path / "model.keras")
    logits = numbers(theirs(batch.features, training=False))
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_its_document_names_the_framework_and_the_function():
    conf = model()
    assert '"framework": "keras"' in conf.to_json()
    assert "tests.interop.keras.live.models:cnn" in conf.to_json()
    assert conf_from_json(conf.to_json()) == conf
    assert "keras.Model" in conf.summary()


def dense(**options):
    layers = [keras.Input((4,)), L.Dense(3)]
    return KerasModel(**{"make": lambda: keras.Sequential(layers), "input_shape": (4,)} | options)


REFUSED = {
    "no function": ({"make": 3}, ConfigError, "must be a function without arguments"),
    "no model": ({"make": lambda: 3}, ConfigError, "must return a keras.Model .*, got 3"),
    "no shape": (
        {"make": lambda: keras.Sequential([L.Dense(3)])},
        ConfigError,
        "begin it with keras.Input",
    ),
    "narrow": (
        {"make": lambda: keras.Sequential([keras.Input((4,)), L.Dense(3, dtype="float16")])},
        ConfigError,
        "must give variables of float32",
    ),
    "a regularizer": (
        {
            "make": lambda: keras.Sequential(
                [keras.Input((4,)), L.Dense(3, kernel_regularizer="l2")]
            )
        },
        ConfigError,
        "layers add no losses, got 1 of regularizers",
    ),
    "two data formats": (
        {
            "make": lambda: keras.Sequential(
                [
                    keras.Input((4, 4, 2)),
                    L.Conv2D(3, 1),
                    L.Permute((3, 1, 2)),
                    L.ZeroPadding2D(1, data_format="channels_first"),
                ]
            ),
            "input_shape": (4, 4, 2),
        },
        ConfigError,
        "have one data_format, got channels_first and channels_last; give all of them the same",
    ),
    "other input": ({"input_shape": (5,)}, ShapeError, "takes \\(5,\\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_trained_is_refused(name):
    options, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        dense(**options)


@pytest.mark.slow
def test_a_loss_that_a_layer_adds_ends_the_fit():
    layers = [keras.Input((4,)), L.Dense(3), L.ActivityRegularization(l2=0.1)]
    network = Network(dense(make=lambda: keras.Sequential(layers)))
    with pytest.raises(ConfigError, match="layers add no losses, got 1"):
        network.fit((np.zeros((4, 4), np.float32), np.zeros(4, int)))


def test_what_has_no_model_is_refused():
    with pytest.raises(ConfigError, match="must be a Network of a KerasModel"):
        trained_model(Network(NetworkConf(input_shape=(2,), layers=[Output(units=2)])))


@pytest.mark.slow
def test_workers_on_this_machine_begin_with_keras_on_its_backend(monkeypatch):
    monkeypatch.setattr(SERVER, "_needed", [])
    with Asked() as asked:
        assert not asked("'keras' in sys.modules")
    conf = model()
    with Asked() as asked:
        assert asked("sys.modules['keras'].backend.backend()") == conf.backend
