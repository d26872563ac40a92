"""States that recurrent layers carry from one run to the next, as columns of a batch."""

import numpy as np

from sparkdl.errors import ConfigError

PREFIX = "state:"


def state_columns(conf, states, n):
    """Returns the columns of `states`, adding zeros for missing ones; {} if it is None.

    Raises
    ------
    ConfigError
        If they belong to another number of sequences than n.
    """
    if states is None:
        return {}
    for name, shape in conf.state_shapes.items():
        state = states.setdefault(name, np.zeros((n, *shape), np.float32))
        if len(state) != n:
            raise ConfigError(f"the states are those of {len(state)} sequences, got {n}")
    return {PREFIX + name: state for name, state in states.items()}


def carry(states, outputs, n):
    """Copies the last states from a program's outputs into `states`, unless it is None."""
    for name in states or ():
        states[name] = outputs[PREFIX + name][:n].copy()


def states_in(batch):
    """Returns {state: Tensor} of a batch {column: Tensor}."""
    return {c.removeprefix(PREFIX): t for c, t in batch.items() if c.startswith(PREFIX)}


def states_out(result, batch):
    """Returns the outputs of a program with the next states, if its batch has states."""
    return {PREFIX + name: result.states[name] for name in states_in(batch)}
