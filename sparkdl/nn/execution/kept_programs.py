"""The compiled programs that a replica keeps, so that batches of equal shapes share one."""

from functools import lru_cache, partial

PROGRAMS = 8  # kept of a kind: each batch size has a program with its own arena


def by_output(build, replica):
    """Returns a function of an output that returns its function of the shapes of a batch.

    Each output keeps PROGRAMS programs of its own, so that those of several outputs, computed in
    turn, do not displace each other.

    Parameters
    ----------
    build : function (replica, shapes, output) -> program
    """

    @lru_cache(None)
    def of_output(output):
        return lru_cache(PROGRAMS)(partial(build, replica, output=output))

    return of_output
