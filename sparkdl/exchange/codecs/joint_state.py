"""Combined state of several coders of one codec, one vector for each kind of state."""

import numpy as np

from sparkdl.errors import CheckpointError
from sparkdl.exchange.codecs.base import describe_arrays


def join_states(coders):
    """Returns the concatenated states of the coders, {name: vector}; empty if they keep none."""
    states = [coder.state() for coder in coders]
    names = states[0] if states else ()
    return {name: np.concatenate([state[name] for state in states]) for name in names}


def restore_joined(coders, state):
    """Restores the coders from `join_states` of the same number of coders of the same lengths.

    Raises
    ------
    CheckpointError
        If names, lengths or types differ.
    """
    needed, actual = describe_arrays(join_states(coders)), describe_arrays(state)
    if needed != actual:
        codec = type(coders[0].codec).__name__ if coders else "no codec"
        raise CheckpointError(f"{codec} needs state {needed}, got {actual}")
    start = dict.fromkeys(state, 0)
    for coder in coders:
        stop = {name: start[name] + len(array) for name, array in coder.state_arrays().items()}
        coder.restore({name: state[name][start[name] : stop[name]] for name in stop})
        start = stop
