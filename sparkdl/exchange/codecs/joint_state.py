"""State of several coders of one codec, joined into one vector of each kind."""

import numpy as np

from sparkdl.errors import CheckpointError
from sparkdl.exchange.codecs.base import describe_arrays


def join_states(coders):
    """Returns {name: vector}: what the coders keep between vectors.

    Empty where they keep nothing.
    """
    states = [coder.state() for coder in coders]
    names = states[0] if states else ()
    return {name: np.concatenate([state[name] for state in states]) for name in names}


def restore_joined(coders, state):
    """Restores the coders from what `join_states` gave of as many of the same lengths.

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
