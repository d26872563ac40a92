"""States that recurrent layers carry from one run of a program to the next: columns of a batch."""

import numpy as np

from sparkdl.errors import ConfigError

PREFIX = "state:"


def state_columns(conf, states, n):
    """Returns the columns of `states`, of zeros where it is empty; none where it is None.

    Raises
    ------
    ConfigError
        If they are those of another number of sequences than n.
    """
    if states is None:
        return {}
    for name, shape in conf.state_shapes.items():
        state = states.setdefault(name, np.zeros((n, *shape), np.float32))
        if len(state) != n:
            raise ConfigError(f"the states are those of {len(state)} sequences, got {n}")
    return {PREFIX + name: state for name, state in states.items()}


def carry(states, outputs, n):
    """Puts what a program left behind into `states`, unless that is None."""
    for name in states or ():
        states[name] = outputs[PREFIX + name][:n].copy()


def states_in(batch):
    """Returns {state: Tensor} of a batch {column: Tensor}."""
    return {c.removeprefix(PREFIX): t for c, t in batch.items() if c.startswith(PREFIX)}


def states_out(result, batch):
    """Returns the outputs of a program that are next states, where its batch has states."""
    return {PREFIX + name: result.states[name] for name in states_in(batch)}
