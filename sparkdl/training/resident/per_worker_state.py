"""State that each worker keeps for itself: its names, and its redistribution to other workers."""

import numpy as np

from sparkdl.errors import CheckpointError

RESIDUAL = "residual"


def prefix(name, state):
    """Returns {f"{name}.{key}": vector}: a named part of a worker's state."""
    return {f"{name}.{key}": vector for key, vector in state.items()}


def worker_state_part(name, state):
    """Returns the part of a worker's state that `prefix` gave this name."""
    return {k.removeprefix(f"{name}."): v for k, v in state.items() if k.startswith(f"{name}.")}


def copy_worker_state(state, name, out):
    """Fills `out` with the vector of this name; CheckpointError if it does not fit."""
    vector = state.get(name)
    if vector is None or (vector.shape, vector.dtype) != (out.shape, out.dtype):
        available = sorted((n, str(x.dtype), x.shape) for n, x in state.items())
        need = f"the state of a worker needs {name} {out.shape} of {out.dtype}"
        raise CheckpointError(f"{need}, got {available}")
    np.copyto(out, vector)


def redistribute_worker_states(states, workers, averages):
    """Returns the states of the workers, redistributed to another number of workers.

    Worker r goes on with what worker r had, modulo the old number. But residuals, what codecs have
    yet to send, are neither lost nor doubled: those of a worker that there is no longer are added
    to another's, a further worker begins with zeros, and so their sum stays.

    Parameters
    ----------
    states : tuple of {name: vector}
        In the order of rank.
    workers : int
    averages : bool
        Whether what is sent is averaged over workers, not added: residuals are then scaled, so that
        what is yet to come moves the weights as far as it would have.
    """
    before = len(states)
    if before in (0, workers):
        return states
    factor = np.float32(workers / before if averages else 1)
    return tuple(_own_of(states, rank, workers, factor) for rank in range(workers))


def _own_of(states, rank, workers, factor):
    state = dict(states[rank % len(states)])
    for name, vector in state.items():
        if name.rpartition(".")[2] == RESIDUAL:
            sources = range(rank, len(states), workers)
            state[name] = sum((states[i][name] for i in sources), np.zeros_like(vector)) * factor
    return state
