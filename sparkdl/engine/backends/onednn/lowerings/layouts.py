"""Weights in the layout that a kernel wants."""

import numpy as np


def in_layout(session, array, md):
    """(calls, memory): the array in the layout `md`, reordered at each run where it is not.

    What changes seldom is reordered ahead of the runs.
    """
    plain = session.at(np.asarray(array))
    if session.equal(plain.md, md):
        return [], plain
    if session.holds(plain.array):
        memory = session.lasting_memory(md)
        session.ahead.append(session.reorder(plain, memory))
        return [], memory
    memory = session.transient_memory(md)
    return [session.reorder(plain, memory)], memory
