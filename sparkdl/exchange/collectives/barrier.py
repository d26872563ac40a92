"""Barrier: no rank goes on before all have come.

References
----------
Hensgen, Finkel and Manber, Two algorithms for barrier synchronization (1988): dissemination.
"""

EMPTY = memoryview(bytearray())


def barrier(call):
    """Takes log2(size) steps, hearing from ever farther ranks, each of which heard as many."""
    distance = 1
    while distance < call.size:
        call.send((call.rank + distance) % call.size, EMPTY)
        yield call.receive((call.rank - distance) % call.size, EMPTY)
        distance *= 2
