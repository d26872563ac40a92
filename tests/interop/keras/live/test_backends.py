"""A model's functions on this process's Keras backend, against Keras."""

import numpy as np
import pytest

from sparkdl.interop.keras.live.backends import functions_of
from sparkdl.interop.keras.live.variables import build_model, kept, to_numpy, trained
from tests.interop.keras.live.models import numbers
from tests.interop.keras.models import keras

L = keras.layers
SEED = np.array([3, 0xFFFFFFFF], np.uint32)


class Spare(L.Layer):
    """Has a weight that nothing depends on."""

    def build(self, shape):
        self.spare = self.add_weight(shape=(2,), name="spare")

    def call(self, x):
        return x * 2


def bag():
    return keras.Sequential(
        [keras.Input((4,), dtype="int32"), L.Embedding(9, 3), L.Flatten(), L.Dense(2)]
    )


def spare():
    return keras.Sequential([keras.Input((4,)), L.Dense(2), Spare()])


def normal():
    return keras.Sequential([keras.Input((4,)), L.BatchNormalization(), L.Dense(2)])


def two_dropouts():
    x = keras.Input((50,))
    return keras.Model(x, L.Concatenate()([L.Dropout(0.5)(x), L.Dropout(0.5)(x)]))


def functions(make):
    """Returns (ModelFunctions, trained values, kept values) of a new model."""
    model = build_model(make, 5)
    values = [[to_numpy(v) for _, v in named] for named in (trained(model), kept(model))]
    return functions_of(model, keras.backend.backend()), *values


def inputs(make):
    rng = np.random.default_rng(0)
    ids, x = rng.integers(0, 9, (6, 4)).astype(np.int32), rng.normal(size=(6, 4))
    return ids if make is bag else x.astype(np.float32)


def padded():
    layers = [L.Embedding(9, 3, mask_zero=True), L.Dense(2)]
    return keras.Sequential([keras.Input((4,), dtype="int32"), *layers])


def frozen():
    model = keras.Sequential([keras.Input((4,)), L.Dense(2, trainable=False), Spare()])
    return model


MODELS = {
    "ids of an embedding": bag,
    "a weight that nothing reaches": spare,
    "means": normal,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Gradients do not exist")  # Keras warns of the spare weight
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_gradient_step_is_that_of_keras(make):
    x, (made, values, held) = inputs(make), functions(make)
    y, mask, back, after = made.train(values, held, SEED, x)
    assert mask is None
    slopes = back(np.ascontiguousarray(2 * y / y.size))  # of the mean square
    theirs = build_model(make, 5)
    theirs.compile(keras.optimizers.SGD(1.0), keras.losses.MeanSquaredError())
    theirs.train_on_batch(x, np.zeros_like(y))
    for value, slope, variable in zip(values, slopes, theirs.trainable_variables, strict=True):
        np.testing.assert_allclose(value - slope, numbers(variable), rtol=1e-4, atol=1e-6)
    for value, (_, variable) in zip(after, kept(theirs), strict=True):
        np.testing.assert_allclose(value, numbers(variable), rtol=1e-5, atol=1e-6)
    found, _ = made.use(values, held, x)
    np.testing.assert_allclose(found, numbers(build_model(make, 5)(x, training=False)), rtol=1e-5)


def test_a_weight_that_nothing_reaches_has_no_gradient_where_all_else_is_frozen():
    made, values, held = functions(frozen)
    y, _, back, _ = made.train(values, held, SEED, inputs(frozen))
    assert [np.abs(slope).max() for slope in back(np.ones_like(y))] == [0]


def test_the_mask_of_the_output_is_that_of_keras():
    x, (made, values, held) = inputs(bag), functions(padded)
    expected = np.array(x != 0)
    assert not expected.all()
    np.testing.assert_array_equal(numbers(made.train(values, held, SEED, x)[1]), expected)
    np.testing.assert_array_equal(numbers(made.use(values, held, x)[1]), expected)


def test_each_generator_has_a_seed_of_its_own_that_repeats():
    made, values, held = functions(two_dropouts)
    x = np.ones((8, 50), np.float32)
    first, again, other = (made.train(values, held, seed, x)[0] for seed in (SEED, SEED, SEED // 2))
    np.testing.assert_array_equal(first, again)
    assert np.mean(first != other) > 0 and np.mean(first[:, :50] != first[:, 50:]) > 0
    assert set(np.unique(first)) == {0, 2}


def test_a_step_of_an_optimizer_is_a_function_of_its_state():
    """The values that the variables hold do not matter."""
    made, values, _ = functions(normal)
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build(made.model.trainable_variables)
    step = made.stepper(optimizer)
    state = [to_numpy(one) for one in optimizer.variables]
    slopes = [np.full_like(value, 0.5) for value in values]
    one, after = step(state, slopes, values)
    step([np.asarray(a) for a in after], slopes, [np.asarray(v) for v in one])
    again, _ = step(state, slopes, values)
    for value, found, repeated in zip(values, one, again, strict=True):
        np.testing.assert_allclose(value - 0.1, found, atol=1e-5)  # Adam's first step
        np.testing.assert_array_equal(found, repeated)
