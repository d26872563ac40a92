"""Options per parameter array: the layer's own setting, else the network's."""

from math import prod

import numpy as np

from sparkdl.nn.layers.core.parameters import TrainableLayer


def option_of(layer, option):
    """Returns an option of TrainableLayer, or its default for layers without it."""
    return getattr(layer, option, getattr(TrainableLayer, option))


def is_bias(layer, name):
    """Returns whether the bias_ options apply to the parameter `name`."""
    return name in getattr(layer, "biases", ())


def optimizer_of(network, layer, name):
    """Returns the optimizer of a layer's parameter `name`."""
    option = option_of(layer, "bias_optimizer") if is_bias(layer, name) else None
    return option or option_of(layer, "optimizer") or network.optimizer


def rate_factor(layer, name):
    """Returns the learning rate factor of a layer's parameter `name`."""
    option = option_of(layer, "bias_rate_factor") if is_bias(layer, name) else None
    return option_of(layer, "rate_factor") if option is None else option


def constraints_of(network, layer, name):
    """Returns the constraints of a layer's parameter `name`; none if it is not trained."""
    if rate_factor(layer, name) == 0:
        return ()
    if is_bias(layer, name):
        return option_of(layer, "bias_constraints")
    option = option_of(layer, "constraints")
    if option is None:
        return network.constraints if name in layer.penalized else ()
    return option if name in (layer.penalized or (name,)) else ()


def incoming(layer, name, shape):
    """Returns `Layer.incoming` of the parameter `name`; biases are one vector in any shape."""
    return ((prod(shape),), (0,)) if is_bias(layer, name) else layer.incoming(name, shape)


def arrays(network):
    """Returns (layer, name, shape) of each parameter array, in the parameter vector's order."""
    return [
        (place.layer, name, shape)
        for place in network.stack
        for name, shape in place.param_shapes.items()
    ]


def moved_parts(network):
    """Returns the trained slices of the parameter vector, those outside `fixed_parts`."""
    fixed = fixed_parts(network)
    starts = [0, *(part.stop for part in fixed)]
    stops = [*(part.start for part in fixed), network.params_layout.size]
    return [slice(*ends) for ends in zip(starts, stops, strict=True) if ends[0] < ends[1]]


def fixed_parts(network):
    """Returns the slices of the parameter vector with a learning rate of 0, as in Frozen layers."""
    slices = network.params_layout.slices.values()
    pairs = zip(arrays(network), slices, strict=True)
    return [part for (layer, name, _), part in pairs if rate_factor(layer, name) == 0]


def spread(network, number, other=0):
    """Returns `number(layer, name)` per entry of the parameter vector, None if all are `other`.

    Returns
    -------
    float32 (n,) or None
    """
    sizes = [(number(layer, name), prod(shape)) for layer, name, shape in arrays(network)]
    numbers = np.array([value for value, size in sizes if size], np.float32)
    if (numbers == other).all():
        return None
    return np.repeat(numbers, [size for _, size in sizes if size])
