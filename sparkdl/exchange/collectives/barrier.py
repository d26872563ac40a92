"""Barrier: no rank continues before all have arrived.

References
----------
Hensgen, Finkel and Manber, Two algorithms for barrier synchronization (1988): dissemination.
"""

EMPTY = memoryview(bytearray())


def barrier(call):
    """Runs ceil(log2(size)) steps; in each, a rank signals one twice as far away as in the last."""
    distance = 1
    while distance < call.size:
        call.send((call.rank + distance) % call.size, EMPTY)
        yield call.receive((call.rank - distance) % call.size, EMPTY)
        distance *= 2
