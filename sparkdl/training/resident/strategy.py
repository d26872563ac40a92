"""Base class of strategies, the part of a resident master that runs in its workers.

A fit is epochs of rounds; in a round a worker trains the minibatches of one block, or of none.
lifecycle.py does the rest: data, order, reports, snapshots, evaluation, faults.
"""

from contextlib import contextmanager
from typing import Any, NamedTuple

from sparkdl.training.resident.control import VECTORS


class GradientStep(NamedTuple):
    """The input of one gradient computation.

    Parameters
    ----------
    batch : Batch
    share : float
        Of the minibatch: 1, or with tbptt the fraction of its time steps in this chunk.
    states : dict or None
        For Replica.gradient.
    """

    batch: Any
    share: float
    states: dict | None


class Strategy:
    """Trains and exchanges. A new master implements `round`, and overrides what differs for it.

    `lockstep`: whether `round` gets the same number of steps in all workers, None once a worker has
    no more data. Strategies that exchange after each step need it.

    Parameters
    ----------
    master : ResidentMaster
        The options.
    worker : Worker
        Has the replica, loaded with the state that all start from; the Group; and `update`,
        `gradient`, `apply`, which count what was trained. All exchange must take place inside
        `with worker.exchanging():`, which measures its time.
    """

    lockstep = False

    def __init__(self, master, worker):
        self.master, self.worker = master, worker

    def round(self, steps):
        """Trains one round.

        Called equally often in all workers. Must consume all of `steps`, an iterator of
        GradientStep that may be empty. Afterwards `worker.iteration` is the number of updates done,
        the same in all workers that update in step.
        """
        raise NotImplementedError

    def end_epoch(self):
        """Ends an epoch; called in all workers after its last round, before its `state`."""

    def state(self):
        """Returns {"params", "buffers", "slots": vector}: the result if the fit ended now.

        Includes "tables": {"table/array": vector}, as `TrainState.tables`, and may include
        "master_state": {name: vector of floats}, further state of the master, which a resumed fit
        finds in `worker.master_state`.

        Called in all workers after the same rounds, so it may exchange; must be bitwise equal in
        all. The state is evaluated, saved in checkpoints, and restored after a worker was lost.
        """
        replica = self.worker.replica
        vectors = {name: getattr(replica, name) for name in ("params", "buffers", "slots")}
        return vectors | {"tables": replica.table_arrays()}

    @contextmanager
    def in_use(self):
        """Provides a replica with the vectors of `state`, for evaluation; called in all workers."""
        with with_vectors(self.worker.replica, self.state()):
            yield self.worker.replica

    def worker_state(self):
        """Returns {name: vector of floats}: the state of this worker alone, at the same time.

        For example the residual of its codec; a resumed fit finds it in `worker.saved_state`.
        Called in all workers when the state is sent to the driver, after `state`; must not
        exchange. When the number of workers changes, per_worker_state.py redistributes it: other
        workers' vectors may be added to a vector named RESIDUAL, or whose name ends in that after a
        dot.
        """
        return {}

    def close(self):
        """Called in all workers at the end, even after a failure; must not wait for others."""


@contextmanager
def with_vectors(replica, vectors):
    """Temporarily replaces the replica's vectors."""
    saved = {name: getattr(replica, name) for name in VECTORS}
    if all(saved[name] is vectors[name] for name in VECTORS):
        yield
        return
    saved = {name: vector.copy() for name, vector in saved.items()}
    replica.load(**{name: vectors[name] for name in VECTORS})
    try:
        yield
    finally:
        replica.load(**saved)
