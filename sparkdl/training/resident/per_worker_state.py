"""State that belongs to single workers: naming, and redistribution when their number changes."""

import numpy as np

from sparkdl.errors import CheckpointError

RESIDUAL = "residual"


def prefix(name, state):
    """Returns {f"{name}.{key}": vector}: a named part of a worker's state."""
    return {f"{name}.{key}": vector for key, vector in state.items()}


def worker_state_part(name, state):
    """Returns the part of a worker's state to which `prefix` gave this name."""
    return {k.removeprefix(f"{name}."): v for k, v in state.items() if k.startswith(f"{name}.")}


def copy_worker_state(state, name, out):
    """Copies the vector of this name to `out`; raises CheckpointError if it does not fit."""
    vector = state.get(name)
    if vector is None or (vector.shape, vector.dtype) != (out.shape, out.dtype):
        available = sorted((n, str(x.dtype), x.shape) for n, x in state.items())
        need = f"the state of a worker needs {name} {out.shape} of {out.dtype}"
        raise CheckpointError(f"{need}, got {available}")
    np.copyto(out, vector)


def redistribute_worker_states(states, workers, averages):
    """Returns the workers' states, redistributed to another number of workers.

    Worker r takes over the state of worker r, modulo the old number. The sum of residuals, which
    codecs have yet to send, is preserved: residuals of a removed worker are added to another's, and
    a new worker begins with zeros.

    Parameters
    ----------
    states : tuple of {name: vector}
        In the order of rank.
    workers : int
    averages : bool
        Whether messages are averaged over workers rather than summed: residuals are then scaled, so
        that they still move the weights by the same amount.
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
