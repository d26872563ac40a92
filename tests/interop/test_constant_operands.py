"""Layers for operations with broadcast constants, against numpy."""

import numpy as np
import pytest

from sparkdl.interop.constant_operands import HIDDEN, constant_layer
from sparkdl.nn import GraphBuilder, LossLayer
from sparkdl.training.network import Network

SHAPES = [(), (1,), (4,), (3, 1), (1, 4), (3, 4), (2, 1, 1), (2, 3, 1), (1, 3, 1), (1, 2, 3, 4)]


def computed(layer, weights, x):
    build = GraphBuilder()
    build.inputs = {"x": x.shape[1:]}
    name = build.add(layer, "x")
    build.add(LossLayer(loss="mse"), name)
    network = Network(build.conf())
    for key, view in network.conf.params_layout.views(network.state.params).items():
        view[...] = weights[key.split("/")[1]]
    return network.features(x, name)[name]


@pytest.mark.parametrize("flag, operation", [("shift", np.add), ("scale", np.multiply)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numbers_are_those_of_broadcasting(shape, flag, operation):
    rng = np.random.default_rng(0)
    x, values = rng.normal(size=(5, 2, 3, 4)), rng.normal(size=shape)
    layer, weights = constant_layer(values, (2, 3, 4), flag)
    assert bool(weights) == (np.size(values) > 1)
    ours = computed(layer, weights, x.astype(np.float32))
    np.testing.assert_allclose(ours, operation(x, values), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(2,), (5, 1, 1, 1), (2, 4), (1, 1, 2, 3, 4)], ids=str)
def test_others_have_no_layer(shape):
    assert constant_layer(np.arange(np.prod(shape)).reshape(shape), (2, 3, 4), "scale") is None


def test_what_hides_is_finite_and_not_trained():
    hides = np.array([0, -np.inf, -3.4e38], np.float32)
    layer, weights = constant_layer(hides, (2, 3), "shift")
    assert layer.type_name == "Frozen" and weights["beta"].tolist() == [0, HIDDEN, HIDDEN]
    layer, _ = constant_layer(np.ones(3), (2, 3), "shift", trains=False)
    assert layer.type_name == "Frozen"
    assert constant_layer(np.ones(3), (2, 3), "shift")[0].type_name == "Affine"


def test_a_constant_that_is_repeated_for_each_example_is_one():
    values = np.broadcast_to(np.arange(3.0), (5, 2, 3))
    assert constant_layer(values, (2, 3), "scale")[1]["gamma"].tolist() == [[0, 1, 2]] * 2


MASKS = {
    "shift": [[0, -1e4], [0, -1e9], [3, -np.inf]],
    "scale": [[0, 1]],
}  # fmt: skip
NO_MASKS = {"shift": [[1, -1e4], [0, -9e3], [0, 1]], "scale": [[1, 1], [0, 0], [0, 2], [-1, 1]]}


@pytest.mark.parametrize("flag", MASKS)
def test_masks_are_not_trained_unless_they_are_parameters(flag):
    for numbers in MASKS[flag]:
        assert constant_layer(np.array(numbers), (3, 2), flag)[0].type_name == "Frozen"
        assert constant_layer(np.array(numbers), (3, 2), flag, True)[0].type_name == "Affine"
    for numbers in NO_MASKS[flag]:
        assert constant_layer(np.array(numbers), (3, 2), flag)[0].type_name == "Affine"
