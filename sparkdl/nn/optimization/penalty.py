"""l1 and l2 penalties, which pull weights towards 0.

They add l1 |w| + l2 w^2 / 2 per weight to the loss, as in DL4J; the gradient l2 w is what Caffe
calls weight decay. The reported loss excludes them. Batch normalization and other learned factors
are not penalized unless their layer says so.
"""

from sparkdl.engine import ops
from sparkdl.nn.optimization.parameter_options import is_bias, option_of, spread


def coefficients(network, kind):
    """Returns the l1 or l2 of each entry of the parameter vector, or None if all are 0.

    Parameters
    ----------
    network : NetworkConf
    kind : str
        "l1" or "l2".

    Returns
    -------
    float32 (n,) or None
    """

    def factor(layer, name):
        if is_bias(layer, name):
            return getattr(layer, f"bias_{kind}", 0.0)
        if name not in (*layer.penalized, *layer.penalized_by_layer):
            return 0.0
        return getattr(layer, kind) * option_of(layer, "decay_factor")

    return spread(network, factor)


def decay_factor(layer, name):
    """Returns the factor on decoupled decay of the parameter `name`: 0 for all but weights."""
    return option_of(layer, "decay_factor") if name in layer.penalized else 0.0


def penalty(network, params):
    """Returns the penalty on `params` (n,), a number."""
    l1, l2 = (coefficients(network, kind) for kind in ("l1", "l2"))
    total = 0.0 if l1 is None else ops.sum(ops.mul(l1, ops.abs(params)))
    return total if l2 is None else total + ops.sum(ops.mul(l2, ops.square(params))) * 0.5


def add_penalty(network, grad, params):
    """Adds the gradient of the penalty at `params` (n,) to `grad` (n,); arrays or Tensors."""
    l1, l2 = (coefficients(network, kind) for kind in ("l1", "l2"))
    grad = grad if l1 is None else ops.add(grad, ops.mul(l1, ops.sign(params)))
    return grad if l2 is None else ops.add(grad, ops.mul(l2, params))
