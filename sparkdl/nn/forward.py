"""A batch through a network: at once for arrays, as a graph for Tensors."""

from typing import Any, NamedTuple

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.graph import scope
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.config import nearest
from sparkdl.nn.run import Run


class Forward(NamedTuple):
    """What comes out: z of the last layer, what was asked for by name, the buffers' next values."""

    logits: Any
    activations: dict[str, Any]
    buffer_updates: dict[str, Any]


def forward(network, params, buffers, x, *, training=False, ids=None, epoch=0, outputs=()):
    """Run a batch through all layers.

    Parameters
    ----------
    network : NetworkConf
    params, buffers : dict of float arrays or Tensors
        By the names of network.params_layout and network.buffers_layout ("dense_1/W").
    x : array or Tensor (batch, *input_shape)
        Whole numbers (uint8) become the network's dtype.
    training : bool
        Whether dropout drops and batch normalisation uses the batch's own statistics.
    ids : uint64 (batch,), optional
        The examples' places in the data set; layers with random numbers need them to train.
    epoch : int scalar
    outputs : sequence of str
        Names of layers whose output is wanted; that of the last one is the prediction.

    Returns
    -------
    Forward
        `logits` (batch, units), `activations` {layer name: output}, `buffer_updates` {buffer name:
        next value} for those that change.

    Raises
    ------
    ShapeError
        If x does not fit the network.
    ConfigError
        If `outputs` names a layer that does not exist.
    """
    check(network, x, outputs)
    run = Run(training=training, seed=network.seed, ids=ids, epoch=epoch)
    activations, updates = {}, {}
    y = x if np.dtype(x.dtype).kind == "f" else ops.cast(x, network.dtype)
    for place in network.stack:
        own = run.of_layer(place.index, of_layer(buffers, place.name, place.buffer_shapes))
        with scope(place.name):
            weights = of_layer(params, place.name, place.param_shapes)
            y = place.layer.forward(weights, y, own)
        updates |= {f"{place.name}/{name}": value for name, value in own.updates.items()}
        if place.name in outputs:
            activations[place.name] = network.loss.output(y) if place.is_output else y
    return Forward(y, {name: activations[name] for name in outputs}, updates)


def of_layer(arrays, layer, names):
    """{name: array} of one layer."""
    return {name: arrays[f"{layer}/{name}"] for name in names}


def check(network, x, outputs):
    """x fits the network, and it has the layers of `outputs`."""
    if tuple(x.shape[1:]) != network.input_shape:
        wanted = ("batch", *network.input_shape)
        raise ShapeError(f"the network needs {wanted}, got {tuple(x.shape)}")
    known = [layer.name for layer in network.layers]
    for name in outputs:
        if name not in known:
            raise ConfigError(f"no layer {name!r}{nearest(name, known)}; the layers are {known}")
