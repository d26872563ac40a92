"""Output layers, written as the Keras layers that compute their predictions."""

from dataclasses import fields

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.writing.rules import dense
from sparkdl.interop.keras.writing.weighted import add_function
from sparkdl.nn import layers as nn
from sparkdl.nn.activations import Identity
from sparkdl.nn.networks.new_output import applied_by


def prediction(loss):
    """Returns the activation function that turns the input of a loss into predictions."""
    applied = applied_by(loss)
    if applied is not None:
        return applied()
    if loss.predicts_z:
        return Identity()
    raise UnsupportedError(f"what {type(loss).__name__} predicts is not supported")


def output(at):
    """Adds a Dense with the activation function of its loss."""
    names = [item.name for item in fields(nn.Dense)]
    given = {name: getattr(at.layer, name) for name in names if name != "activation"}
    at.layer = nn.Dense(**given, activation=prediction(at.layer.loss))
    return dense(at)


def loss_layer(at):
    function = prediction(at.layer.loss)
    at.layer = nn.Activation(function)
    return add_function(at, function, at.one())


HEADS = {nn.Output: output, nn.RnnOutput: output, nn.LossLayer: loss_layer}
