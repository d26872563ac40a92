"""The gradient of a network's loss with respect to its input."""

from sparkdl.engine import gradients, ops
from sparkdl.nn.execution.batch_tensors import (
    forward_batch,
    identity_inputs,
    identity_of,
    inputs_of,
    losses_of,
)
from sparkdl.nn.execution.replica_programs import compile_graph

SLOPE = "slope"


def input_gradient_program(replica, shapes, column="features"):
    """Returns the program of a training step's loss and its gradient with respect to a column.

    Parameters
    ----------
    replica : Replica
        Parameters are bound to its vectors; it may have none.
    shapes : ((column, shape), ...)
        As returned by `shapes_of`.
    column : str

    Returns
    -------
    Program with the inputs of a batch and `identity_inputs`, and the outputs "loss", the sum of the
    examples' losses, and SLOPE, the gradient of their mean with respect to the column.
    """
    weights, states, batch = inputs_of(replica, shapes)
    n = shapes[0][1][0]
    identity = identity_of(n)
    result = forward_batch(replica.conf, weights, states, batch, training=True, **identity)
    loss = ops.sum(losses_of(replica.conf, result, batch))
    [slope] = gradients(ops.mul(loss, 1 / n), wrt=[batch[column]])
    params, buffers = replica.arrays()
    inputs = weights | states | batch | identity_inputs(**identity)
    return compile_graph(replica, inputs, {"loss": loss, SLOPE: slope}, params | buffers)
