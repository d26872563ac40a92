"""Weights in the layout that a kernel wants."""

import numpy as np


def in_layout(session, array, md):
    """(calls, memory): the array in the layout `md`, reordered at each run where it is not.

    What changes seldom is reordered ahead of the runs.
    """
    own = session.at(np.asarray(array))
    if session.equal(own.md, md):
        return [], own
    if session.holds(own.array):
        memory = session.lasting_memory(md)
        session.ahead.append(session.reorder(own, memory))
        return [], memory
    memory = session.transient_memory(md)
    return [session.reorder(own, memory)], memory
