"""l1 and l2: what pulls weights towards 0. Biases and batch normalisation are left alone.

To the loss, l1 |w| + l2 w^2 / 2 is added for each weight, as in DL4J; the gradient l2 w is what
Caffe calls weight decay. The loss that is reported is without it.
"""

from math import prod

import numpy as np

from sparkdl.engine import ops


def coefficients(network, kind):
    """The factor of each entry of the parameter vector, or None where all are 0.

    Parameters
    ----------
    network : NetworkConf
    kind : str
        "l1" or "l2".

    Returns
    -------
    float32 (n,) or None
    """
    return spread(network, lambda layer: getattr(layer, kind))


def spread(network, number):
    """`number(layer)` for each weight in the parameter vector, 0 elsewhere; None if all are 0."""
    parts = [
        np.full(prod(shape), number(p.layer) if name in p.layer.penalized else 0, np.float32)
        for p in network.stack
        for name, shape in p.param_shapes.items()
    ]
    vector = np.concatenate([np.zeros(0, np.float32), *parts])
    return vector if vector.any() else None


def penalty(network, params):
    """The number that l1 and l2 add to the loss at `params` (n,)."""
    l1, l2 = (coefficients(network, kind) for kind in ("l1", "l2"))
    total = 0.0 if l1 is None else ops.sum(ops.mul(l1, ops.abs(params)))
    return total if l2 is None else total + ops.sum(ops.mul(l2, ops.square(params))) * 0.5


def add_penalty(network, grad, params):
    """`grad` (n,) plus the gradient of the penalty at `params` (n,); arrays or Tensors."""
    l1, l2 = (coefficients(network, kind) for kind in ("l1", "l2"))
    grad = grad if l1 is None else ops.add(grad, ops.mul(l1, ops.sign(params)))
    return grad if l2 is None else ops.add(grad, ops.mul(l2, params))
