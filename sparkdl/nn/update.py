"""One update of the parameter vector: clip, then l1 and l2, then the updater; as Caffe does it.

Decoupled weight decay, where the updater has it, comes last and sees the old parameters.
"""

from sparkdl.engine import ops
from sparkdl.nn.penalty import add_penalty, spread


def updated(network, params, grad, slots, rate, t):
    """The parameters and slots after one update. Arrays or Tensors.

    Parameters
    ----------
    network : NetworkConf
    params, grad : float (n,)
        `grad` is that of the mean loss of the batch.
    slots : dict of float (n,)
        One vector for each of network.updater.slot_names.
    rate, t : float scalar
        Learning rate, and the number of this update, from 1.

    Returns
    -------
    params, slots
        Like those given.
    """
    if network.clipping is not None:
        grad = network.clipping.clip(grad, network.params_layout)
    grad = add_penalty(network, grad, params)
    updater, layout = network.updater, network.params_layout
    decay = spread(network, lambda layer: updater.weight_decay)
    step, slots = updater.move(params, grad, slots, rate, t, layout, decay)
    return ops.add(params, step), slots
