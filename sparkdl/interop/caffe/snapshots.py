"""Caffe's snapshots: the weights and the solver's state, written and gone on from."""

from dataclasses import replace

import numpy as np

from sparkdl.data import files
from sparkdl.errors import CheckpointError, ConfigError, UnsupportedError
from sparkdl.interop.caffe.orders import arrays_of, blobs_of
from sparkdl.interop.caffe.solver_state import SolverState, read_solver_state, write_solver_state
from sparkdl.interop.caffe.transfer import Arrays, load_weights, said, save_weights
from sparkdl.nn import AdaDelta, AdaGrad, AdamHat, Momentum, Nesterov, RmsProp, Sgd
from sparkdl.nn.schedules import MultiStep, Step

# What Caffe's history holds of each parameter: our slots in its order, and their factor. Its steps
# are subtracted and ours added, so velocities point the other way.
HISTORIES = {
    Sgd: {},
    Momentum: {"velocity": -1},
    Nesterov: {"velocity": -1},
    AdaGrad: {"square": 1},
    RmsProp: {"square": 1},
    AdaDelta: {"square": 1, "step_square": 1},
    AdamHat: {"mean": 1, "square": 1},
}
ENDS = {"BINARYPROTO": "", "HDF5": ".h5"}


def save_snapshot(conf, state, prefix, layers=None, format="BINARYPROTO", name=""):
    """Write PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate, as Caffe's solver does.

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    state : TrainState
        N is its number of updates.
    prefix : str
        Local or a URI.
    layers, name
        See `save_weights`.
    format : str
        "BINARYPROTO" or "HDF5", whose files end in .h5 as well.

    Returns
    -------
    The path of the .solverstate.

    Raises
    ------
    UnsupportedError
        For an updater or a layer that Caffe does not have.
    CheckpointError
        If a file cannot be written.
    """
    if format not in ENDS:
        raise ConfigError(f"format must be one of {', '.join(ENDS)}, got {format!r}")
    stem, end = f"{prefix}_iter_{state.iteration}", ENDS[format]
    weights = f"{stem}.caffemodel{end}"
    written = SolverState(
        iteration=state.iteration,
        history=tuple(history_of(conf, state, layers)),
        current_step=drops(conf.updater.rate, state.iteration),
        weights=weights,
    )
    save_weights(conf, state, weights, layers, name)
    write_solver_state(f"{stem}.solverstate{end}", written)
    return f"{stem}.solverstate{end}"


def load_snapshot(conf, state, path, layers=None, weights=None):
    """The state that a .solverstate and its weights say, to go on from.

    Parameters
    ----------
    conf, layers
        See `load_weights`.
    state : TrainState
        What it says beyond vectors and updates stays.
    path : str
        Of the .solverstate, local or a URI.
    weights : str, optional
        Of the .caffemodel; the one that the .solverstate names unless given, looked for beside it
        as well.

    Raises
    ------
    CheckpointError
        For a file that cannot be used or is of another network or solver.
    """
    found = read_solver_state(path)
    state, report = load_weights(conf, state, weights or weights_of(found, path), layers)
    if report.left:
        raise CheckpointError(f"{report.path}: has no weights of {', '.join(report.left)}")
    slots = slots_of(conf, state, found.history, path, layers)
    return replace(state, slots=slots, iteration=found.iteration)


def weights_of(found, path):
    """The path of the weights that belong to a SolverState read from `path`."""
    if not found.weights:
        raise CheckpointError(f"{path}: names no weights; say which belong to it")
    beside = [*str(path).rpartition("/")[:2], found.weights.rpartition("/")[2]]
    for place in (found.weights, "".join(beside)):
        if files.exists(place):
            return place
    raise CheckpointError(f"{path}: its weights are neither at {found.weights} nor beside it")


def history_of(conf, state, layers=None):
    """Caffe's history of a state: a blob for each of the net's, for each slot anew."""
    found = []
    for slot in slots_in(conf, state.slots.copy()):
        for place, own in owned(conf, state):
            blobs = blobs_of(place.layer, own, said(layers, place.name))
            if slot and place.param_shapes:
                factor, views = slot
                moving = {name: views[f"{place.name}/{name}"] for name in own}
                blobs = [
                    factor * b for b in blobs_of(place.layer, moving, said(layers, place.name))
                ]
            else:  # what is not trained has a history as well
                blobs = [np.zeros_like(blob) for blob in blobs]
            found += blobs
    return found


def slots_of(conf, state, history, path, layers=None):
    """The slot vector that Caffe's history, read from `path`, says."""
    vector, places, rest = state.slots.copy(), owned(conf, state), list(history)
    slots = slots_in(conf, vector)
    counts = [len(blobs_of(place.layer, own, said(layers, place.name))) for place, own in places]
    if len(history) != sum(counts) * len(slots):
        kind, wanted = kind_of(conf).__name__, sum(counts) * len(slots)
        raise CheckpointError(
            f"{path}: the history of {kind} must have {wanted} blobs, got {len(history)}"
        )
    for slot in slots:
        for (place, own), count in zip(places, counts, strict=True):
            blobs, rest = rest[:count], rest[count:]
            if slot and place.param_shapes:
                fill(slot, place, own, blobs, path, said(layers, place.name))
    return vector


def fill(slot, place, own, blobs, path, spec):
    """Put the history of a layer into its parts of a slot."""
    factor, views = slot
    try:
        arrays = arrays_of(place.layer, blobs, own, spec)
    except CheckpointError as error:
        raise CheckpointError(f"{path}, history of layer {place.name!r}: {error}") from error
    for name, array in arrays.items():
        views[f"{place.name}/{name}"][...] = factor * array


def owned(conf, state):
    """[(place, {name: array})] of all that have arrays of their own, in Caffe's order."""
    arrays = Arrays(conf, state)
    return [(p, arrays.of(p)) for p in arrays.places.values() if p.owner == p.name]


def slots_in(conf, vector):
    """[(factor, {array: view of `vector`})] of what Caffe's history holds; None for what we do not.

    Without momentum, Caffe keeps a velocity that it never uses.
    """
    views = conf.slots_layout.views(vector)
    found = []
    for slot, factor in HISTORIES[kind_of(conf)].items():
        parts = {}
        for group in conf.groups:
            parts |= group.layout.views(views[group.slots[slot]])
        found.append((factor, parts))
    return found or [None]


def kind_of(conf):
    """The class of the updater."""
    kinds = {type(group.updater) for group in conf.groups}
    kind = kinds.pop()
    if kinds or kind not in HISTORIES:
        known = ", ".join(kind.__name__ for kind in HISTORIES)
        raise UnsupportedError(f"a solver of Caffe has one updater of {known}, not {kind.__name__}")
    return kind


def drops(rate, iteration):
    """How often the rate had dropped at the last update; Caffe counts it where it goes by steps."""
    last = max(iteration - 1, 0)
    if isinstance(rate, MultiStep):
        return sum(step <= last for step in rate.steps)
    return last // rate.step if isinstance(rate, Step) else 0
