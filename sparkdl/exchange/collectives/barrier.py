"""Barrier: nobody goes on before all have come.

References
----------
Hensgen, Finkel and Manber, Two algorithms for barrier synchronization (1988): dissemination.
"""

NOTHING = memoryview(bytearray())


def barrier(call):
    """log2(size) steps: hear from ever farther ranks, each of which has heard from as many."""
    distance = 1
    while distance < call.size:
        call.send((call.rank + distance) % call.size, NOTHING)
        yield call.receive((call.rank - distance) % call.size, NOTHING)
        distance *= 2
