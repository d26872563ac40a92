"""What layers would take, counted rather than measured."""

import numpy as np

from sparkdl.engine.core_speed import BYTES, FLOPS
from sparkdl.engine.graph import topological

BOTH_PASSES = 3  # a backward pass takes about twice what a forward pass takes
MOVES = 4  # of parameters: read on both ways, and gradients read and written


def estimate_layer_seconds(conf, values, examples):
    """Returns an estimate of what each layer's two passes take for an example on a core, (layers,).

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    values : {name: Tensor}
        As `trace_values` gives them.
    examples : int
        Of the traced batch.
    """
    places = {place.name: index for index, place in enumerate(conf.stack)}
    seconds = np.zeros(len(conf.stack))
    for node in topological(values.values()):
        if node.scope in places:
            moved = sum(tensor.spec.nbytes for tensor in (*node.inputs, *node.outputs))
            seconds[places[node.scope]] += node.flops / FLOPS + moved / BYTES
    return seconds * BOTH_PASSES / examples


def pass_seconds(nbytes):
    """Returns what both passes take at least, however few examples: parameters are moved."""
    return MOVES * nbytes / BYTES
