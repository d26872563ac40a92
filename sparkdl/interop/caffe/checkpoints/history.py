"""Conversion between the histories of Caffe's solvers and the slots of optimizers."""

import numpy as np

from sparkdl.errors import CheckpointError, UnsupportedError
from sparkdl.interop.caffe.checkpoints.layer_arrays import moments_in
from sparkdl.nn import AdaDelta, AdaGrad, AdamHat, Momentum, Nesterov, RmsProp, Sgd

# Slots in the order of Caffe's history, and their sign there: Caffe subtracts steps, sparkdl adds
# them. Without momentum, Caffe stores the last step, though it does not use it; sparkdl writes
# zeros, as a slot would cost memory and traffic.
HISTORIES = {
    Sgd: {None: 1},
    Momentum: {"velocity": -1},
    Nesterov: {"velocity": -1},
    AdaGrad: {"square": 1},
    RmsProp: {"square": 1},
    AdaDelta: {"square": 1, "step_square": 1},
    AdamHat: {"mean": 1, "square": 1},
}


def history_of(conf, state, layers=None):
    """Returns Caffe's history for a state: blobs like the net's, once for each slot.

    Raises
    ------
    UnsupportedError
        If Caffe does not have the optimizer, or if it keeps an average of the weights.
    """
    for group in conf.groups:
        if group.optimizer.ema_decay is not None:
            raise UnsupportedError(
                f"{group.optimizer.type_name}.ema_decay must be None for a .solverstate, got "
                f"{group.optimizer.ema_decay}; Caffe keeps no averages: Network.save keeps this "
                "one, and save_weights writes the weights of Network.with_averaged_weights()"
            )
    history = []
    for factor, arrays in solver_histories(conf, state.slots.copy(), layers):
        for name in arrays:
            blobs, trained = arrays.blobs(name), arrays.is_trained(name)
            history += [factor * blob if trained else np.zeros_like(blob) for blob in blobs]
    return history


def slots_of(conf, state, history, path, layers=None):
    """Converts Caffe's history, read from `path`, to a slot vector.

    Raises
    ------
    CheckpointError
        If the number or shapes of blobs differ, as for another net or solver.
    """
    vector, rest = state.slots.copy(), list(history)
    slots = solver_histories(conf, vector, layers)
    wanted = sum(len(arrays.blobs(name)) for _, arrays in slots for name in arrays)
    if len(history) != wanted:
        kind = kind_of(conf).__name__
        raise CheckpointError(
            f"{path}: the history of {kind} must have {wanted} blobs, got {len(history)}"
        )
    for factor, arrays in slots:
        for name in arrays:
            count = len(arrays.blobs(name))
            put(arrays, name, [factor * blob for blob in rest[:count]], path)
            rest = rest[count:]
    return vector


def put(arrays, name, blobs, path):
    try:
        arrays.put(name, blobs)
    except CheckpointError as error:
        raise CheckpointError(f"{path}, history of layer {name!r}: {error}") from error


def solver_histories(conf, vector, layers):
    """Returns [(factor, LayerArrays in the slot vector)] for each slot that Caffe keeps."""
    views, histories = conf.slots_layout.views(vector), []
    for slot, factor in HISTORIES[kind_of(conf)].items():
        moments = {}
        for group in conf.groups:
            nothing = np.zeros(group.layout.size, vector.dtype)
            moments |= group.layout.views(views[group.slots[slot]] if slot else nothing)
        histories.append((factor, moments_in(conf, moments, layers)))
    return histories


def kind_of(conf):
    """Returns the class of the optimizer, which must be the same for all parameters."""
    kinds = {type(group.optimizer) for group in conf.groups}
    kind = kinds.pop()
    if kinds or kind not in HISTORIES:
        known = ", ".join(kind.__name__ for kind in HISTORIES)
        raise UnsupportedError(
            f"a solver of Caffe has one optimizer of {known}, not {kind.__name__}"
        )
    return kind
