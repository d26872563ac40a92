"""Whole models read from Keras's files, against Keras itself."""

import json
import subprocess
import sys

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, DataError, SparkdlError, UnsupportedError
from sparkdl.interop.keras import read_keras
from sparkdl.nn import LossLayer
from sparkdl.training.transfer import replace_output
from tests.interop.keras.drawn_models import ModelDrawing
from tests.interop.keras.model_table import MODELS, WORDS, built
from tests.interop.keras.models import answer, chain, draw_weights, drawn, keras, train
from tests.support.tables import for_all, in_parts

L = keras.layers
ALONE = """
import sys, numpy as np
from sparkdl.interop.keras import read_keras
with np.load(sys.argv[2]) as data:
    y = read_keras(sys.argv[1]).run(data["x"])
    np.testing.assert_allclose(y, data["y"], rtol=1e-4, atol=1e-5)
assert not {"keras", "tensorflow", "jax"} & sys.modules.keys()
"""


def features_of(name, shapes):
    if name in WORDS:
        x = np.random.default_rng(3).integers(0, 9, (4, *shapes[0]))
        x[:, -2:] = 0  # padding
        return [x.astype(np.float32)]
    return [drawn(i, 4, *shape) for i, shape in enumerate(shapes)]


def given_to(model, features):
    """Returns features as `run` takes them."""
    if len(features) == 1:
        return features[0]
    return dict(zip([x._keras_history.operation.name for x in model.inputs], features, strict=True))


def answer_to(model, features):
    return answer(model, features if len(features) > 1 else features[0])


def check_same(net, model, features, rtol=1e-4, theirs=None):
    theirs = answer_to(model, features) if theirs is None else theirs
    ours = net.run(given_to(model, features))
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, list) else [(ours, theirs)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("names", in_parts(MODELS, quick=2))
def test_models_are_those_of_keras(names, tmp_path):
    def check(name):
        model, shapes = built(name)
        features = features_of(name, shapes)
        theirs = answer_to(model, features)
        for file in ("model.keras", "model.h5"):
            model.save(tmp_path / file)
            check_same(read_keras(str(tmp_path / file)), model, features, theirs=theirs)

    for_all(names, check)


def of_two_outputs():
    """Returns a compiled model of a class and a number, with penalties of its weights."""
    x = keras.Input((4,), name="x")
    h = L.Dense(5, activation="tanh", kernel_regularizer=keras.regularizers.L2(0.05))(x)
    kind = L.Dense(3, activation="softmax", name="kind")(h)
    size = L.Dense(1, name="size", kernel_regularizer=keras.regularizers.L1(0.02))(h)
    model = draw_weights(keras.Model(x, [kind, size]))
    model.compile(
        keras.optimizers.SGD(0.1),
        loss={"kind": "sparse_categorical_crossentropy", "size": "mae"},
        loss_weights={"kind": 1.0, "size": 0.3},
        metrics={"kind": ["accuracy"], "size": ["mse"]},
    )
    return model


@pytest.mark.slow
def test_drawn_models_are_those_of_keras(tmp_path):
    def check(seed):
        model = draw_weights(ModelDrawing(seed).model())
        x = drawn(seed, 3, *model.input_shape[1:])
        model.save(tmp_path / "model.keras")
        check_same(read_keras(str(tmp_path / "model.keras")), model, [x])

    for_all(range(6), check)


def test_figures_are_those_of_keras_without_its_penalties():
    model, rng = of_two_outputs(), np.random.default_rng(2)
    x, kind, size = drawn(1, 20, 4), rng.integers(0, 3, 20), drawn(3, 20, 1)
    expected = model.evaluate(x, [kind, size], batch_size=20, verbose=0, return_dict=True)
    columns = {"features": x, "kind": kind.astype(np.int32), "size": size}
    batch = Batch(columns=columns, ids=np.arange(20, dtype=np.uint64))
    network = read_keras(model).network
    found = network.evaluate(batch).figures()
    penalty = float(sum(model.losses))
    assert penalty > 0.1
    assert found["loss"] == pytest.approx(expected["loss"] - penalty, rel=1e-5)
    assert found["accuracy"] == pytest.approx(expected["kind_accuracy"])
    assert found["size/loss"] == pytest.approx(expected["size_loss"], rel=1e-5)
    assert found["size/mse"] == pytest.approx(expected["size_mse"], rel=1e-5)
    for name in ("size", "size/loss"):
        alone = network.evaluate(batch, output=name).figures()
        assert alone["loss"] == found["size/loss"] and alone["mse"] == found["size/mse"]
    kind_alone = network.evaluate(batch, output="kind", metrics=["size"]).figures()
    assert kind_alone["loss"] == pytest.approx(expected["kind_loss"], rel=1e-5)
    assert kind_alone["size/mse"] == found["size/mse"]
    with pytest.raises(ConfigError, match=r"output must be one of \['kind', 'size'\] or None"):
        network.evaluate(batch, output="sizes")


@pytest.mark.slow
def test_a_text_and_its_weights(tmp_path):
    model, shapes = built("nested")
    model.save_weights(tmp_path / "a.weights.h5")
    features = features_of("nested", shapes)
    net = read_keras(model.to_json(), str(tmp_path / "a.weights.h5"))
    check_same(net, model, features)
    (tmp_path / "model.json").write_text(model.to_json())
    net = read_keras(str(tmp_path / "model.json"), str(tmp_path / "a.weights.h5"))
    check_same(net, model, features)
    assert read_keras(model.to_json()).run(features[0]).shape == (4, 7)


@pytest.mark.slow
def test_a_live_model():
    model, shapes = built("resnet")
    check_same(read_keras(model), model, features_of("resnet", shapes))


@pytest.mark.slow
def test_no_keras_is_needed(tmp_path):
    model, shapes = built("vgg")
    model.save(tmp_path / "a.keras")
    x = drawn(1, 2, *shapes[0])
    np.savez(tmp_path / "x.npz", x=x, y=answer(model, x))
    command = [sys.executable, "-c", ALONE, str(tmp_path / "a.keras"), str(tmp_path / "x.npz")]
    subprocess.run(command, check=True)


@pytest.mark.slow
def test_images_may_come_with_channels_first():
    model, shapes = built("vgg")
    x = drawn(1, 2, *shapes[0])
    ours = read_keras(model, images="channels_first").run(x.transpose(0, 3, 1, 2))
    np.testing.assert_allclose(ours, answer(model, x), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_open_shapes_are_given():
    model = chain(L.LSTM(3), shape=(None, 4))
    x = drawn(1, 2, 6, 4)
    with pytest.raises(ConfigError, match="shape must be known"):
        read_keras(model)
    ours = read_keras(model, shapes=(6, 4)).run(x)
    np.testing.assert_allclose(ours, answer(model, x), rtol=1e-4, atol=1e-5)


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, clipvalue=0.1),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "adam that warms up": lambda: keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(0.0, 4, warmup_target=0.02, warmup_steps=3)
    ),
    "momentum by steps": lambda: keras.optimizers.SGD(
        keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5, staircase=True), momentum=0.9
    ),
    "ftrl": lambda: keras.optimizers.Ftrl(
        0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.01, beta=0.5
    ),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, rho=0.8),
    "rmsprop with a large epsilon": lambda: keras.optimizers.RMSprop(0.05, epsilon=0.1),
    "adagrad": lambda: keras.optimizers.Adagrad(0.05, epsilon=0.01),
    "clipped": lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.1),
}


def compiled(optimizer):
    """Returns a compiled model with constraints, and penalties unless gradients are clipped."""
    pulled = {"kernel_regularizer": keras.regularizers.L1L2(0.01, 0.02), "bias_regularizer": "l2"}
    pulled = {} if optimizer.clipvalue or optimizer.global_clipnorm else pulled
    layers = [L.Conv2D(3, 3, **pulled), L.BatchNormalization(), L.ReLU(), L.Flatten()]
    last = L.Dense(4, activation="softmax", kernel_constraint=keras.constraints.MaxNorm(0.8))
    model = chain(*layers, last, shape=(6, 7, 2))
    model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_training_goes_on(ending, tmp_path):
    def check(name):
        model = compiled(OPTIMIZERS[name]())
        x, y = drawn(1, 8, 6, 7, 2), np.arange(8, dtype=np.int32) % 4
        model.train_on_batch(x, y)
        model.save(tmp_path / f"model.{ending}")
        net = read_keras(str(tmp_path / f"model.{ending}"))
        check_same(net, model, [x])
        for _ in range(2):
            model.train_on_batch(x, y)
        train(net.network, x, y, 2)
        np.testing.assert_allclose(net.run(x), answer(model, x), rtol=1e-3, atol=1e-4)

    for_all(OPTIMIZERS, check)


ADAPTED = {  # name: (shape, what makes the layer, mean of the data)
    "rows": ((6,), L.Normalization, [0, 3, -50, 2000, 1e-3, 7]),
    "steps": ((4, 3), L.Normalization, [7, -1, 100]),
    "images": ((4, 5, 3), L.Normalization, [7, -1, 100]),
    "channels first": ((3, 4, 5), lambda: L.Normalization(axis=1), 7),
    "all alike": ((4, 5, 3), lambda: L.Normalization(axis=None), 7),
    "undone": ((4, 5, 3), lambda: L.Normalization(invert=True), [0.7, -1, 0.1]),
    "undone, all alike": ((6,), lambda: L.Normalization(axis=None, invert=True), 0.1),
}


@pytest.mark.parametrize("ending", ["keras", "h5"])
@pytest.mark.parametrize("name", ADAPTED)
def test_normalization_has_the_statistics_of_adapt_and_keeps_them(name, ending, tmp_path):
    shape, make, mean = ADAPTED[name]
    layer, x = make(), drawn(1, 12, *shape) + np.float32(mean)
    if name == "rows":
        x[:, 5] = 7  # a constant, whose variance is 0
    layer.adapt(x)
    last = L.Flatten(), L.Dense(4, activation="softmax")
    model = keras.Sequential([keras.Input(shape), layer, *last])
    model.compile(keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy")
    model.save(tmp_path / f"model.{ending}")
    net = read_keras(str(tmp_path / f"model.{ending}"))
    check_same(net, model, [x])
    y = np.arange(12, dtype=np.int32) % 4
    for _ in range(2):
        model.train_on_batch(x, y)
    train(net.network, x, y, 2)
    check_same(net, model, [x])


@pytest.mark.parametrize("axis", [-1, None], ids=str)
def test_normalization_by_given_numbers_may_be_undone(axis):
    """Without a file of weights, too: the numbers are in the config."""
    numbers = {"mean": 1.5, "variance": 2.5} if axis is None else {"mean": [1, 2, 3.0]}
    numbers |= {} if axis is None else {"variance": [4, 0, 2.0]}
    x = drawn(1, 3, 4, 5, 3)
    for layers in ([L.Normalization(axis, **numbers)], []):
        back = L.Normalization(axis, **numbers, invert=True)
        model = keras.Sequential([keras.Input(x.shape[1:]), *layers, back])
        check_same(read_keras(model.to_json()), model, [x])


@pytest.mark.parametrize("axis", [[2, 3], [1, 2, 3], 2], ids=str)
def test_normalization_of_each_place_is_refused(axis):
    model = keras.Sequential([keras.Input((4, 5, 3)), L.Normalization(axis)])
    with pytest.raises(UnsupportedError, match=r"Normalization\): axis=.* is not supported"):
        read_keras(model.to_json())


def behind_softmax():
    """Returns last layers of a classifier of four classes, some of them identities at inference."""
    return {
        "linear": [L.Softmax(), L.Activation("linear", dtype="float32")],
        "dropout": [L.Softmax(), L.Dropout(0.5)],
        "reshape": [L.Softmax(), L.Reshape((4,))],
    }


@pytest.mark.slow
def test_a_softmax_before_layers_that_change_nothing_is_the_one_of_the_loss():
    def check(name):
        model = chain(L.Dense(4), *behind_softmax()[name], shape=(5,))
        x, y = 3 * drawn(1, 6, 5), np.arange(6, dtype=np.int32) % 4
        plain = replace_output(read_keras(model).network, LossLayer())
        np.testing.assert_allclose(plain.predict(x), answer(model, x), rtol=1e-4, atol=1e-6)
        model.compile("sgd", "sparse_categorical_crossentropy")
        net = read_keras(model)
        np.testing.assert_allclose(net.run(x), answer(model, x), rtol=1e-4, atol=1e-6)
        theirs = float(model.compute_loss(x, y, model(x)))
        assert net.network.score((x, y)) == pytest.approx(theirs, rel=1e-4)

    for_all(behind_softmax(), check)


@pytest.mark.parametrize("losses", [(None, True), (True, None), (True, True)], ids=str)
def test_a_softmax_that_is_an_output_too_stays(losses):
    features = keras.Input((5,))
    soft = L.Softmax()(L.Dense(4)(features))
    model, x = keras.Model(features, [soft, L.Reshape((4,))(soft)]), drawn(1, 6, 5)
    model.compile("sgd", [loss and "sparse_categorical_crossentropy" for loss in losses])
    if losses[0] is None:  # its loss would read the layer before the other output
        with pytest.raises(UnsupportedError, match="an output of softmax that nothing else reads"):
            read_keras(model)
        return
    for ours, theirs in zip(read_keras(model).run(x), model(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


LOSSES = {
    "mse": ("linear", "mse", False),
    "huber": ("tanh", keras.losses.Huber(), False),
    "huber near": ("linear", keras.losses.Huber(delta=0.2), False),
    "huber in a list": ("linear", [keras.losses.Huber(delta=0.2)], False),
    "binary": ("sigmoid", "binary_crossentropy", False),
    "logits": ("linear", keras.losses.CategoricalCrossentropy(from_logits=True), True),
    "one_hot": ("softmax", "categorical_crossentropy", True),
    "classes": ("softmax", "sparse_categorical_crossentropy", None),
}


@pytest.mark.slow
def test_losses_are_those_of_keras():
    def check(name):
        activation, loss, one_hot = LOSSES[name]
        model = chain(L.Dense(4), L.Activation(activation), shape=(5,))
        model.compile("sgd", loss)
        x, y = drawn(1, 6, 5), abs(drawn(2, 6, 4)) % 1
        y = np.eye(4, dtype=np.float32)[np.arange(6) % 4] if one_hot else y
        y = np.round(y) if name == "binary" else y
        y = np.arange(6, dtype=np.int32) % 4 if one_hot is None else y
        net = read_keras(model)
        np.testing.assert_allclose(net.run(x), answer(model, x), rtol=1e-4, atol=1e-6)
        theirs = float(model.compute_loss(x, y, model(x)))
        assert net.network.score((x, y)) == pytest.approx(theirs, rel=1e-4)

    for_all(LOSSES, check)


def test_options_that_keras_does_not_save_are_read_from_a_model():
    """Huber's delta was 1 for all models, and a similarity along steps was one of features."""
    x = keras.Input((5, 4))
    model = keras.Model(x, [L.Dense(2, name="near")(x), L.Dense(2, name="far")(x)])
    model.compile("sgd", {"near": keras.losses.Huber(delta=0.2), "far": keras.losses.Huber(3.0)})
    places = read_keras(model).network.conf.outputs
    assert [place.layer.loss.delta for place in places] == [0.2, 3.0]
    model.compile("sgd", ["mse", keras.losses.CosineSimilarity(axis=1)])
    with pytest.raises(UnsupportedError, match="far: axis=1 is not supported"):
        read_keras(model)


@keras.saving.register_keras_serializable(package="mine")
class Own(keras.layers.Layer):
    def call(self, x):
        return x


def refused():
    return [
        L.Lambda(lambda x: x),
        L.LSTM(3, recurrent_dropout=0.2),
        L.SpectralNormalization(L.Dense(4)),
        L.ReLU(max_value=2.0, threshold=1.0),
        L.Dropout(0.5, noise_shape=(None, 1, 4)),
        L.Activation("squareplus"),
        L.UnitNormalization(1),
        L.GroupNormalization(2, beta_regularizer="l2"),
        L.Dense(3, activity_regularizer="l2"),
        L.Dense(3, dtype="float16"),
        L.Dense(3, kernel_regularizer=keras.regularizers.OrthogonalRegularizer()),
        Own(),
    ]


@pytest.mark.slow
def test_all_that_is_refused_is_named_at_once(tmp_path):
    rows = refused()
    model = keras.Sequential([keras.Input((5, 4)), rows[0], rows[2], rows[3]])
    model.save(tmp_path / "a.keras")
    with pytest.raises(UnsupportedError) as error:
        read_keras(str(tmp_path / "a.keras"))
    assert "Lambda" in str(error.value) and "SpectralNormalization" in str(error.value)

    def check(layer):
        model = keras.Sequential([keras.Input((5, 4)), layer])
        with pytest.raises(UnsupportedError, match=layer.name):
            read_keras(model.to_json())

    for_all(rows, check)


def test_a_refused_layer_with_several_outputs_is_named():
    x = keras.Input((5, 4))
    model = keras.Model(x, L.LSTM(3, return_state=True)(x)[1])
    with pytest.raises(UnsupportedError, match="return_state=True is not supported"):
        read_keras(model.to_json())


def test_normalization_that_takes_masked_steps_in_keras_is_refused():
    def check(layer):
        layers = L.Embedding(9, 4, mask_zero=True), layer, L.LSTM(3)
        model = keras.Sequential([keras.Input((5,)), *layers])
        kind = type(layer).__name__
        with pytest.raises(UnsupportedError, match=f"{kind} of a sequence with a mask is not"):
            read_keras(model.to_json())

    over_steps = L.LayerNormalization([1, 2])
    for_all([L.GroupNormalization(2), L.UnitNormalization(), L.Softmax(), over_steps], check)


@pytest.mark.slow
@pytest.mark.parametrize("zero", [False, True])
def test_masked_steps_that_keras_repeats_are_a_note(zero):
    lstm = L.LSTM(3, return_sequences=True, zero_output_for_mask=zero, name="lstm")
    model = chain(L.Embedding(9, 4, mask_zero=True), lstm, L.Dense(2), shape=(7,))
    [x] = features_of("masked", [(7,)])
    net = read_keras(model)
    ours, theirs = net.run(x), answer(model, x)
    np.testing.assert_allclose(ours[x > 0], theirs[x > 0], rtol=1e-4, atol=1e-5)
    assert np.allclose(ours, theirs, atol=1e-3) == zero
    assert [("lstm" in note, "masked" in note) for note in net.notes] == [(True, True)] * (not zero)


GRUS = {  # whether Keras trains two biases where ours has one
    "GRU": (lambda: L.GRU(3), True),
    "in both directions": (lambda: L.Bidirectional(L.GRU(3)), True),
    "reset before": (lambda: L.GRU(3, reset_after=False), False),
    "without biases": (lambda: L.GRU(3, use_bias=False), False),
    "frozen": (lambda: L.GRU(3, trainable=False), False),
    "LSTM": (lambda: L.LSTM(3), False),
}


@pytest.mark.slow
def test_grus_that_train_otherwise_than_in_keras_are_a_note():
    for name, (make, differs) in GRUS.items():
        model = chain(make(), L.Dense(2), shape=(3, 4))
        model.compile("sgd", "mse")
        assert ["GRU" in note for note in read_keras(model).notes] == [True] * differs, name


def test_optimizers_without_a_twin_are_refused_unless_another_is_given():
    model = chain(L.Dense(2), shape=(3,))
    model.compile("nadam", "mse")
    with pytest.raises(UnsupportedError, match="Nadam is not supported; give another"):
        read_keras(model)
    assert read_keras(model, optimizer="adam").network.conf.optimizer.type_name == "Adam"
    assert read_keras(model, compiled=False).network.conf.outputs == ()


DECAYING = {
    "sgd": lambda: keras.optimizers.SGD(0.1, weight_decay=0.3),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.3),
    "adam": lambda: keras.optimizers.Adam(0.05, weight_decay=0.3),
    "adamw": lambda: keras.optimizers.AdamW(0.05, weight_decay=0.3),
    "adadelta": lambda: keras.optimizers.Adadelta(0.5, weight_decay=0.3),
    "adagrad": lambda: keras.optimizers.Adagrad(0.05, weight_decay=0.3),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.05, weight_decay=0.3),
}


@pytest.mark.slow
def test_weights_decay_as_in_keras():
    def check(name):
        model = draw_weights(chain(L.Dense(4, use_bias=False), shape=(3,)))
        model.compile(DECAYING[name](), "mse")
        net = read_keras(model)
        x, y = drawn(1, 8, 3), drawn(2, 8, 4)
        for _ in range(3):
            model.train_on_batch(x, y)
        train(net.network, x, y, 3)
        np.testing.assert_allclose(net.run(x), answer(model, x), rtol=1e-4, atol=1e-5)
        assert "weight_decay leaves biases and normalization alone" in net.notes[0]

    for_all(DECAYING, check)


OTHERS = {
    "RMSprop with momentum": (lambda: keras.optimizers.RMSprop(momentum=0.5), "momentum=0.5"),
    "RMSprop around the mean": (lambda: keras.optimizers.RMSprop(centered=True), "centered=True"),
    "Ftrl that decays": (lambda: keras.optimizers.Ftrl(weight_decay=0.5), "weight_decay=0.5"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_options_of_optimizers_without_a_twin_are_refused(name):
    make, option = OTHERS[name]
    model = chain(L.Dense(2), shape=(3,))
    model.compile(make(), "mse")
    with pytest.raises(UnsupportedError, match=f"{option} is not supported; give another"):
        read_keras(model)


def test_an_average_of_the_weights_is_refused():
    model = chain(L.Dense(2), shape=(3,))
    model.compile(keras.optimizers.Adam(use_ema=True), "mse")
    with pytest.raises(UnsupportedError, match="use_ema=True is not supported; give another one"):
        read_keras(model)


OLD = {
    "class_name": "Model",
    "keras_version": "2.4.0",
    "config": {
        "name": "model",
        "layers": [
            {
                "class_name": "InputLayer",
                "config": {"batch_input_shape": [None, 3], "dtype": "float32", "name": "x"},
                "name": "x",
                "inbound_nodes": [],
            },
            {
                "class_name": "Dense",
                "config": {"name": "d", "units": 3, "activation": "hard_sigmoid"},
                "name": "d",
                "inbound_nodes": [[["x", 0, 0, {}]]],
            },
            {
                "class_name": "Add",
                "config": {"name": "a"},
                "name": "a",
                "inbound_nodes": [[["x", 0, 0, {}], ["d", 0, 0, {}]]],
            },
        ],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["a", 0, 0]],
    },
}


@pytest.mark.parametrize(
    ("output", "says"),
    [(["a", 1, 0], "outputs must be tensors that exist.*'a'"), (["z", 0, 0], "none called .'z'")],
)
def test_outputs_that_no_call_makes_are_refused(output, says):
    document = OLD | {"config": OLD["config"] | {"output_layers": [output]}}
    with pytest.raises(DataError, match=says):
        read_keras(json.dumps(document))


def test_keras_2_writes_calls_and_slopes_in_its_own_way():
    net = read_keras(json.dumps(OLD))
    x = drawn(1, 2, 3)
    params = net.network.conf.params_layout.views(net.network.state.params)
    z = x @ params["d/W"] + params["d/b"]
    np.testing.assert_allclose(net.run(x), x + np.clip(0.2 * z + 0.5, 0, 1), rtol=1e-5, atol=1e-6)


TENSOR = '{"class_name": "__keras_tensor__", "config": [1]}'
CALLED = f'{{"class_name": "Flatten", "name": "f", "inbound_nodes": [{{"args": [{TENSOR}]}}]}}'
DAMAGED = {
    f'{{"class_name": "Functional", "config": {{"layers": [{CALLED}]}}}}': DataError,
    "{}": UnsupportedError,
    '{"class_name": "Sequential"}': DataError,
    '{"class_name": "Sequential", "config": {"layers": [3]}}': DataError,
    '{"class_name": "Functional", "config": {"layers": [], "input_layers": 3}}': DataError,
    "{": DataError,
}


def test_damaged_texts_are_named():
    def check(text):
        with pytest.raises(DAMAGED[text]):
            read_keras(text)

    for_all(DAMAGED, check)


def test_weights_of_another_model_are_refused(tmp_path):
    chain(L.Dense(2), shape=(3,)).save_weights(tmp_path / "a.weights.h5")
    other = chain(L.Dense(4), shape=(3,))
    with pytest.raises(DataError, match="must fit the layers"):
        read_keras(other.to_json(), str(tmp_path / "a.weights.h5"))
    assert issubclass(DataError, SparkdlError)
