"""Writing and loading of Caffe's snapshots: weights and solver state."""

from dataclasses import replace

from sparkdl.data import files
from sparkdl.errors import CheckpointError, ConfigError
from sparkdl.interop.caffe.checkpoints.history import history_of, slots_of
from sparkdl.interop.caffe.checkpoints.solver_state import (
    SolverState,
    read_solver_state,
    write_solver_state,
)
from sparkdl.interop.caffe.checkpoints.transfer import load_weights, save_weights
from sparkdl.interop.caffe.messages.file_paths import locate_file
from sparkdl.nn.schedules import MultiStepSchedule, StepSchedule

ENDS = {"BINARYPROTO": "", "HDF5": ".h5"}


def save_snapshot(conf, state, prefix, layers=None, format="BINARYPROTO", name=""):
    """Writes PREFIX_iter_N.caffemodel and PREFIX_iter_N.solverstate, as Caffe's solver does.

    The history of SGD without momentum is written as zeros. Caffe stores the last step there, which
    matters only if training is resumed with momentum.

    Parameters
    ----------
    conf : GraphConf or NetworkConf
    state : TrainState
        Its number of updates is N.
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
        For an optimizer or a layer that Caffe does not have, or an average of the weights.
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
        current_step=drops(conf.optimizer.learning_rate, state.iteration),
        weights=weights,
    )
    save_weights(conf, state, weights, layers, name)
    write_solver_state(f"{stem}.solverstate{end}", written)
    return f"{stem}.solverstate{end}"


def load_snapshot(conf, state, path, layers=None, weights=None):
    """Loads the training state from a .solverstate and its weights, to resume from.

    Parameters
    ----------
    conf, layers
        See `load_weights`.
    state : TrainState
        Everything in it but vectors and the number of updates is kept.
    path : str
        The .solverstate, local or a URI.
    weights : str, optional
        The .caffemodel. None: the one that the .solverstate names, also looked for in its folder.

    Raises
    ------
    CheckpointError
        If a file is unusable, or belongs to another network or solver.
    """
    read = read_solver_state(path)
    state, report = load_weights(conf, state, weights or weights_of(read, path), layers)
    if report.unchanged:
        raise CheckpointError(f"{report.path}: has no weights of {', '.join(report.unchanged)}")
    slots = slots_of(conf, state, read.history, path, layers)
    return replace(state, slots=slots, iteration=read.iteration)


def weights_of(state, path):
    """Returns the path of the weights that belong to a SolverState read from `path`."""
    if not state.weights:
        raise CheckpointError(f"{path}: names no weights; say which belong to it")
    place = locate_file(state.weights, path)
    if not files.exists(place):
        raise CheckpointError(f"{path}: its weights are neither at {place} nor beside it")
    return place


def drops(rate, iteration):
    """Returns how often the rate had dropped at the last update, as Caffe counts drops."""
    last = max(iteration - 1, 0)
    if isinstance(rate, MultiStepSchedule):
        return sum(step <= last for step in rate.steps)
    return last // rate.step if isinstance(rate, StepSchedule) else 0
