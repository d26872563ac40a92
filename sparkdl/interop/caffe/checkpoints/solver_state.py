"""Solver state files: .solverstate, binary or HDF5."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data import files
from sparkdl.errors import CheckpointError
from sparkdl.interop.caffe.checkpoints import hdf5
from sparkdl.interop.caffe.checkpoints.weights import as_checkpoint
from sparkdl.interop.caffe.messages.binary import HDF5, as_bytes, is_hdf5, parse_bytes, read_bytes
from sparkdl.interop.caffe.messages.blobs import add_blobs, array_of
from sparkdl.interop.caffe.messages.schema import RAW

MOST_UPDATES = 2**31 - 1  # Caffe counts them in int32


@dataclass(frozen=True, kw_only=True, eq=False)
class SolverState:
    """State of a solver during training, as Caffe stores it.

    Parameters
    ----------
    iteration : int
        Updates done.
    history : tuple of array
        One array for each parameter of the net, in order. AdaDelta and Adam have two slots: first
        that of all parameters, then the second of all.
    current_step : int
        Drops of the learning rate so far.
    weights : str
        File of the weights that belong to it.
    """

    iteration: int
    history: tuple[np.ndarray, ...] = ()
    current_step: int = 0
    weights: str = ""


def read_solver_state(path):
    """Reads a SolverState from a file, local or a URI, in the format that its contents have.

    Raises
    ------
    CheckpointError
        If the file cannot be read, is truncated or damaged, or is of another kind.
    """
    with as_checkpoint():
        content = read_bytes(path)
        if content.startswith(HDF5):
            state = hdf5.state_from_hdf5(content, path)
        else:
            state = fields_of(parse_bytes(content, RAW["SolverState"], path), path)
    if min(state["iteration"], state["current_step"]) < 0:
        raise CheckpointError(f"{path}: updates done must be at least 0, got {state['iteration']}")
    return SolverState(**state)


def write_solver_state(path, state):
    """Writes a SolverState atomically: as HDF5 if the path ends in .h5, else binary.

    Raises CheckpointError if it has more updates than Caffe counts.
    """
    if state.iteration > MOST_UPDATES:
        raise CheckpointError(
            f"{path}: updates done must be at most {MOST_UPDATES}, as Caffe counts them, got "
            f"{state.iteration}"
        )
    with as_checkpoint():
        if is_hdf5(path):
            return files.write(path, hdf5.state_to_hdf5(state))
        message = RAW["SolverState"](
            iter=state.iteration, learned_net=state.weights, current_step=state.current_step
        )
        add_blobs(message.history, state.history, path)
        files.write(path, as_bytes(message, path))


def fields_of(message, path):
    """Converts a message to the options of a SolverState."""
    if not message.HasField("iter"):
        raise CheckpointError(f"{path}: must be the state of a solver, got no number of updates")
    history = [array_of(one, f"{path}, history {i}") for i, one in enumerate(message.history)]
    return {
        "iteration": message.iter,
        "history": tuple(history),
        "current_step": message.current_step,
        "weights": message.learned_net,
    }
