"""One update of the parameter vector: clip, then l1 and l2, then the updater; as Caffe does it.

Decoupled weight decay, where the updater has it, comes last and sees the old parameters.
"""

from sparkdl.engine import ops
from sparkdl.nn.penalty import add_penalty, decayed


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
    step, slots = network.updater.update(grad, slots, rate, t)
    return ops.add(params, decayed(network, step, params, rate)), slots
