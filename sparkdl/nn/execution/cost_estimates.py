"""Estimated costs of layers, counted instead of measured."""

import numpy as np

from sparkdl.engine.core_speed import BYTES, FLOPS
from sparkdl.engine.graph import topological

BOTH_PASSES = 3  # a backward pass takes about twice as long as a forward pass
MOVES = 4  # of parameters: read in both passes, gradients written and read


def estimate_layer_seconds(conf, values, examples):
    """Estimates each layer's seconds per example in both passes on one core, (layers,).

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    values : {name: Tensor}
        As returned by `trace_values`.
    examples : int
        Size of the traced batch.
    """
    places = {place.name: index for index, place in enumerate(conf.stack)}
    seconds = np.zeros(len(conf.stack))
    for node in topological(values.values()):
        if node.scope in places:
            moved = sum(tensor.spec.nbytes for tensor in (*node.inputs, *node.outputs))
            seconds[places[node.scope]] += node.flops / FLOPS + moved / BYTES
    return seconds * BOTH_PASSES / examples


def pass_seconds(nbytes):
    """Returns a lower bound of both passes' seconds for any batch: moving the parameters."""
    return MOVES * nbytes / BYTES
