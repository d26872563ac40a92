"""Which layers are put between a live model and its loss."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.live.output_activation import layers_before
from sparkdl.nn.activations import ActivationFunction, Clip
from sparkdl.nn.layers import LossLayer

CASES = [  # (loss, activation, function put between)
    ("softmax_cross_entropy", None, None),
    ("softmax_cross_entropy", "softmax", None),
    ("sigmoid_cross_entropy", "sigmoid", None),
    ("poisson", "exp", None),
    ("mse", "identity", None),
    ("mse", "sigmoid", "sigmoid"),
    ("mse", "softmax", "softmax"),
    ("multinomial_logistic", "softmax", "softmax"),
]
REFUSED = [
    ("softmax_cross_entropy", "identity"),
    ("softmax_cross_entropy", "sigmoid"),
    ("sigmoid_cross_entropy", "softmax"),
    ("sigmoid_cross_entropy", "relu"),
]
SHAPES = [(1,), (3,), (5, 3), (3, 4, 4)]


def layers(loss, activation, shape):
    made = activation and ActivationFunction.members[activation]()
    return layers_before(LossLayer(loss=loss), made, shape, "a model")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss, activation, between", CASES)
def test_an_activation_lies_there_unless_the_loss_has_it(loss, activation, between, shape):
    found = [layer.function.type_name for layer in layers(loss, activation, shape)]
    assert found == ([between] if between else [])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss, activation", REFUSED)
def test_two_functions_are_refused(loss, activation, shape):
    message = f"output_activation must be None, .* {loss} applies .* got {activation}"
    with pytest.raises(ConfigError, match=message):
        layers(loss, activation, shape)


def test_limits_that_few_numbers_reach_are_kept():
    [layer] = layers_before(LossLayer(loss="mse"), Clip(low=-99, high=99), (3,), "a model")
    assert layer.function == Clip(low=-99, high=99)
