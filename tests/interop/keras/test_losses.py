"""Smoothed, focal and Dice losses of Keras's files: numbers, gradients, and the way back."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.engine import ops
from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras import read_keras, write_keras
from sparkdl.nn import AdamHat, Output, losses
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.network import Network
from tests.interop.keras.models import answer, chain, draw_weights, drawn, jax, keras
from tests.nn.support import value_and_gradients
from tests.support.tables import for_all

L, K = keras.layers, keras.losses
CLASSES, N = 4, 6
SOFT, YES, E = "softmax", "sigmoid", "exponential"
# {case: (activation function, Keras's loss, ours)}
CASES = {
    "smoothed classes": (
        SOFT,
        K.CategoricalCrossentropy(label_smoothing=0.1),
        losses.SoftmaxCrossEntropy(labels="one_hot", label_smoothing=0.1),
    ),
    "smoothed logits": (
        "linear",
        K.CategoricalCrossentropy(from_logits=True, label_smoothing=0.25),
        losses.SoftmaxCrossEntropy(labels="one_hot", label_smoothing=0.25),
    ),
    "smoothed yes or no": (
        YES,
        K.BinaryCrossentropy(label_smoothing=0.2),
        losses.SigmoidCrossEntropy(averaged=True, label_smoothing=0.2),
    ),
    "focal": (
        SOFT,
        K.CategoricalFocalCrossentropy(alpha=1.0),
        losses.SoftmaxCrossEntropy(labels="one_hot", focal_gamma=2.0),
    ),
    "focal by name": (
        SOFT,
        "categorical_focal_crossentropy",
        losses.SoftmaxCrossEntropy(
            labels="one_hot", focal_gamma=2.0, class_weights=(0.25,) * CLASSES
        ),
    ),
    "focal with weights": (
        "linear",
        K.CategoricalFocalCrossentropy(
            alpha=[0.5, 0.25, 0.0, 1.0], gamma=1.5, label_smoothing=0.1, from_logits=True
        ),
        losses.SoftmaxCrossEntropy(
            labels="one_hot",
            focal_gamma=1.5,
            label_smoothing=0.1,
            class_weights=(0.5, 0.25, 0.0, 1.0),
        ),
    ),
    "focal yes or no": (
        YES,
        "binary_focal_crossentropy",
        losses.SigmoidCrossEntropy(averaged=True, focal_gamma=2.0),
    ),
    "balanced yes or no": (
        "linear",
        K.BinaryFocalCrossentropy(
            apply_class_balancing=True,
            alpha=0.75,
            gamma=3.0,
            label_smoothing=0.1,
            from_logits=True,
        ),
        losses.SigmoidCrossEntropy(
            averaged=True, focal_gamma=3.0, focal_alpha=0.75, label_smoothing=0.1
        ),
    ),
    "dice of classes": (
        SOFT,
        K.Dice(axis=-1),
        losses.Dice(labels="one_hot", smooth=0, per_unit=False),
    ),
    "tversky of classes": (
        SOFT,
        K.Tversky(alpha=0.3, beta=0.7, axis=-1),
        losses.Tversky(labels="one_hot", smooth=0, alpha=0.7, beta=0.3, per_unit=False),
    ),
    "tversky of masks": (
        YES,
        K.Tversky(alpha=2.0, axis=(1,)),
        losses.Tversky(labels="masks", smooth=0, alpha=0.5, beta=2.0, per_unit=False),
    ),
    "hinge": ("tanh", "hinge", losses.Hinge(averaged=True)),
    "squared hinge": ("linear", K.SquaredHinge(), losses.SquaredHinge(averaged=True)),
    "poisson": (E, "poisson", losses.Poisson(averaged=True)),
    "log cosh": ("linear", K.LogCosh(), losses.LogCosh()),
    "dice of masks": (
        YES,
        K.Dice(axis=(1,)),
        losses.Dice(labels="masks", smooth=0, per_unit=False),
    ),
}


def compiled(name):
    """Returns a model with its loss, features and labels."""
    activation, loss, _ = CASES[name]
    model = chain(L.Dense(CLASSES), L.Activation(activation), shape=(5,))
    model.compile("sgd", loss)
    y = np.eye(CLASSES, dtype=np.float32)[np.arange(N) % CLASSES]
    ours = CASES[name][2]
    y = np.maximum(y, y[::-1]) if isinstance(ours, losses.SigmoidCrossEntropy) else y
    y = 2 * y - 1 if ours.label_range == (-1, 1) else y
    return model, drawn(1, N, 5), y


@pytest.mark.slow
def test_losses_are_those_of_keras():
    def check(name):
        model, x, y = compiled(name)
        net = read_keras(model)
        assert net.network.conf.loss == CASES[name][2]
        np.testing.assert_allclose(net.run(x), answer(model, x), rtol=1e-4, atol=1e-6)
        theirs = float(model.compute_loss(x, y, model(x)))
        assert net.network.score((x, y)) == pytest.approx(theirs, rel=1e-4)

    for_all(CASES, check)


@pytest.mark.slow
def test_gradients_are_those_of_keras():
    def check(name):
        activation, theirs, ours = CASES[name]
        theirs = keras.losses.get(theirs) if isinstance(theirs, str) else theirs.call
        _, _, y = compiled(name)
        z, functions = (
            drawn(3, N, CLASSES).astype(float),
            {SOFT: jax.nn.softmax, YES: jax.nn.sigmoid, E: jax.numpy.exp},
        )

        def of_keras(z):
            return theirs(y, functions[activation](z) if activation in functions else z).sum()

        _, (gz,) = value_and_gradients(lambda z: ops.sum(ours.per_example(z, y * 1.0)), z)
        np.testing.assert_allclose(gz, jax.grad(of_keras)(z), rtol=1e-4, atol=1e-6)

    for_all(CASES, check)


@pytest.mark.slow
def test_weights_of_outputs_are_those_of_keras():
    """sample_weight={output: weights} of fit and evaluate."""
    x = keras.Input((5,))
    h = L.Dense(4, activation="tanh")(x)
    outputs = {"kind": L.Dense(CLASSES, name="kind")(h), "size": L.Dense(2, name="size")(h)}
    model = draw_weights(keras.Model(x, outputs))
    compiled_losses = {"kind": K.CategoricalCrossentropy(from_logits=True), "size": "mse"}
    model.compile(
        keras.optimizers.SGD(0.1), compiled_losses, loss_weights={"kind": 2.0, "size": 0.5}
    )
    features, y = drawn(1, N, 5), np.eye(CLASSES, dtype=np.float32)[np.arange(N) % CLASSES]
    labels = {"kind": y, "size": drawn(2, N, 2)}
    w = {name: abs(drawn(i, N)) for i, name in enumerate(labels)}
    network = read_keras(model).network
    columns = {"features": features} | labels | {f"{name}_weights": one for name, one in w.items()}
    [own] = {*network.conf.record_shapes}
    columns[own] = columns.pop("features")
    batch = Batch(columns=columns, ids=np.arange(N, dtype=np.uint64))
    theirs = model.evaluate(features, labels, sample_weight=w, verbose=0, return_dict=True)
    assert network.score(batch) == pytest.approx(theirs["loss"], rel=1e-4)
    model.fit(features, labels, sample_weight=w, batch_size=N, epochs=3, verbose=0, shuffle=False)
    network.fit(batch, 3, AllReduceSGD(batch_size_per_worker=N, workers=1))
    z = model.predict(features, verbose=0)["kind"]
    np.testing.assert_allclose(network.predict(features), jax.nn.softmax(z), rtol=1e-4)


@pytest.mark.slow
def test_dice_of_steps():
    """Over the steps of a sequence or all its numbers; Keras's mean is over what is left."""
    x, y = drawn(1, 3, 6, 5), np.eye(CLASSES, dtype=np.float32)[np.arange(18).reshape(3, 6) % 3]
    for axis, per_unit in {(1,): True, (1, 2): False, (-2, -1): False}.items():
        model = chain(L.Dense(CLASSES), L.Softmax(), shape=(6, 5))
        model.compile("sgd", K.Dice(axis=axis))
        network = read_keras(model).network
        assert network.conf.loss == losses.Dice(labels="one_hot", smooth=0, per_unit=per_unit)
        theirs = float(model.compute_loss(x, y, model(x)))
        labels = Network(network.conf, network.state)
        each = network.conf.loss.per_example(logits(labels, x), y)
        assert each.mean() == pytest.approx(theirs, rel=1e-5)


def logits(network, x):
    """Returns what the loss layer reads."""
    return np.log(network.predict(x))


def test_dice_of_a_whole_batch_is_refused():
    for axis in None, (0, 1), 0:
        model = chain(L.Dense(CLASSES, activation="sigmoid"), shape=(5,))
        model.compile("sgd", K.Dice(axis=axis))
        with pytest.raises(UnsupportedError, match=r"axis=.* is not supported"):
            read_keras(model)


WRITTEN = [name for name in CASES if "dice" not in name and "tversky" not in name]


@pytest.mark.parametrize("name", WRITTEN)
def test_they_are_written_for_keras(name, tmp_path):
    conf = read_keras(compiled(name)[0]).network.conf
    last = Output(units=CLASSES, loss=CASES[name][2])
    conf = type(conf)(
        inputs={"x": (5,)},
        vertices=[{"name": "z", "layer": last, "inputs": "x"}],
        optimizer=AdamHat(),
    )
    network = Network(conf)
    assert write_keras(network, tmp_path / "a.keras") == []
    model, (_, x, y) = keras.models.load_model(tmp_path / "a.keras"), compiled(name)
    theirs = float(model.compute_loss(x, y, model(x)))
    assert network.score((x, y)) == pytest.approx(theirs, rel=1e-4)
    assert read_keras(model).network.conf.loss == CASES[name][2]


NO_TWIN = [
    losses.SoftmaxCrossEntropy(label_smoothing=0.1),  # of classes: Keras smooths one-hot labels
    losses.SoftmaxCrossEntropy(focal_gamma=2.0),
    losses.SigmoidCrossEntropy(focal_gamma=2.0),  # a sum over units
    losses.Dice(),
]


@pytest.mark.parametrize("loss", NO_TWIN, ids=str)
def test_a_loss_without_a_twin_is_a_note(loss, tmp_path):
    conf = read_keras(compiled("focal")[0]).network.conf
    vertices = [
        *conf.vertices[:-1],
        replace(conf.vertices[-1], layer=replace(conf.main.layer, loss=loss)),
    ]
    [note] = write_keras(Network(replace(conf, vertices=vertices)), tmp_path / "a.keras")
    assert "the model is not compiled" in note and "is not supported" in note
