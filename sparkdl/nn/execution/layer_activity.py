"""Activity of a network's rectifiers on a batch: units that stay at 0 are dead."""

from sparkdl.engine import ops
from sparkdl.nn.activations import Relu, Relu6, ThresholdedRelu
from sparkdl.nn.execution.batch_tensors import forward_batch, inputs_of
from sparkdl.nn.execution.replica_programs import compile_in_use
from sparkdl.nn.inputs.columns import columns_of, shapes_of

RECTIFIERS = Relu, Relu6, ThresholdedRelu


def rectified_layers(conf):
    """Returns the placed layers with rectifier activations, whose outputs are 0 when inactive."""
    options = "activation", "function"
    return [
        place
        for place in conf.stack
        if any(isinstance(getattr(place.layer, name, None), RECTIFIERS) for name in options)
    ]


def largest_outputs(replica, batch):
    """Returns {layer: largest output of each unit on a batch (units,)} of all rectifiers.

    A unit is a feature, or a channel of images and volumes. The network runs in inference mode,
    without dropout. Empty if there is no rectifier.
    """
    places = rectified_layers(replica.conf)
    if not places:
        return {}
    columns = columns_of(replica.conf, batch, labels=False)
    weights, states, inputs = inputs_of(replica, shapes_of(columns))
    names = [place.name for place in places]
    result = forward_batch(replica.conf, weights, states, inputs, outputs=names)
    outputs = {
        place.name: ops.max(result.activations[place.name], axes=other_axes(place.out_shape))
        for place in places
    }
    program = compile_in_use(replica, weights | states | inputs, outputs)
    return {name: value.copy() for name, value in program.run(columns).items()}


def other_axes(shape):
    """Returns the axes, other than that of units, of a batch of outputs with this shape."""
    unit = 1 if len(shape) >= 3 else len(shape)  # channels come first, features of a sequence last
    return tuple(axis for axis in range(len(shape) + 1) if axis != unit)
