"""Contributions of workers to a round, and their sums, bitwise reproducible in any order of
arrival.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from sparkdl.error_messages import error_from_json, error_to_json
from sparkdl.errors import WorkerError
from sparkdl.thread_start import NoThread
from sparkdl.training.reporting.reports import WorkerFigures

AT_DRIVER = 2  # sums that reach the driver, whose memory must not grow with the workers


@dataclass
class Contribution:
    """The contribution of a worker, or of several together, to a round.

    Parameters
    ----------
    vector : float32 (n,)
        Already weighted, so that the sum over workers is the mean.
    examples, updates, skipped : int
        Examples trained (a sum), updates done by one worker (the maximum), and updates left out by
        all (see RoundReport).
    loss : float
        Sum over examples.
    reading, compute : float
        Seconds of the slowest worker.
    averaging : float
        Seconds that the driver spent on sending the state and summing the results.
    devices : {str: int}
        Number of workers that computed on each device.
    memory : int
        Peak bytes of one worker's process.
    changed : uint8 vector
        A bit for each buffer: whether it has changed since the start of the round.
    together : list of WorkerFigures
        Of several workers.
    """

    vector: np.ndarray
    examples: int
    loss: float
    updates: int
    reading: float
    compute: float
    averaging: float = 0.0
    skipped: int = 0
    devices: dict = field(default_factory=dict)
    memory: int = 0
    changed: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))
    together: list = field(default_factory=list)

    @property
    def workers(self):
        """The WorkerFigures of each worker, in the order of addition."""
        times = self.reading, self.compute, 0.0
        return self.together or [WorkerFigures(self.examples, *times, memory=self.memory)]

    def add(self, other):
        """Adds another contribution; the vector is updated in place."""
        self.together = [*self.workers, *other.workers]
        with np.errstate(all="ignore"):  # the master checks the sum
            np.add(self.vector, other.vector, out=self.vector)
        self.changed = self.changed | other.changed
        self.examples += other.examples
        self.loss += other.loss
        self.updates = max(self.updates, other.updates)
        self.skipped += other.skipped
        self.reading = max(self.reading, other.reading)
        self.compute = max(self.compute, other.compute)
        self.devices = dict(Counter(self.devices) + Counter(other.devices))


@dataclass(frozen=True)
class Failure:
    """An error on a worker, returned as a result, so that Spark does not retry it.

    Parameters
    ----------
    error : Exception
        Crosses process boundaries as JSON.
    whose : str
        Where it happened, for an error that is not sparkdl's own.
    """

    error: Exception
    whose: str = "a worker"

    def __reduce__(self):
        return failure_from_json, (error_to_json(self.error), self.whose)


def failure_of(error):
    """Returns the Failure of an error.

    Raises it if another process may not have it, so that Spark runs the task again in one.
    """
    if isinstance(error, NoThread):
        raise error
    return Failure(error)


def failure_from_json(meta, whose):
    """Returns the Failure that another process sent as JSON."""
    return Failure(error_from_json(meta, whose), whose)


def levels(count, depth):
    """Returns the number of sums after each level of a tree of `depth` over `count` workers.

    The driver is the last level and adds the rest: two sums if depth >= 2, otherwise all.
    """
    groups, sizes = count, []
    for remaining in range(depth - 1, 0, -1):
        if groups <= AT_DRIVER:
            break
        fan_in = ceil((groups / AT_DRIVER) ** (1 / remaining))
        groups = max(AT_DRIVER, ceil(groups / fan_in))
        sizes.append(groups)
    return sizes


def group(rank, count, groups):
    """Returns the group of a rank; neighbors are together, and no group is empty."""
    return rank * groups // count


def total(ranked):
    """Returns the sum of (rank, Contribution) pairs in the order of rank, in place of the first.

    If there are Failures, returns the one of the lowest rank instead.
    """
    results = [result for _, result in sorted(ranked, key=lambda pair: pair[0])]
    for result in results:
        if isinstance(result, Failure):
            return result
    if not results:
        raise WorkerError("a round needs at least one worker's result, got none")
    first, *rest = results
    for result in rest:
        first.add(result)
    return first


def unwrap(result):
    """Returns the Contribution, or raises the error of a Failure."""
    if isinstance(result, Failure):
        raise result.error
    return result


def tree_total(ranked, count, depth):
    """Returns the total of results in one process, added in the order of a tree over workers."""
    remaining = count
    for groups in levels(count, depth):
        parts = {}
        for rank, result in ranked:
            parts.setdefault(group(rank, remaining, groups), []).append((rank, result))
        ranked = [(number, total(part)) for number, part in sorted(parts.items())]
        remaining = groups
    return unwrap(total(ranked))
