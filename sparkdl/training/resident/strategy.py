"""Base of the strategies, which run a master's part of the work in the workers. Each master that
stays has one, beside its options.

A fit is epochs of rounds; in a round a worker trains the minibatches of one block, or of none. The
life of a worker (lifecycle.py) does the rest: data, order, reports, snapshots, evaluation, faults.
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
        Of the minibatch: 1, but with tbptt the part of its steps that this is.
    states : dict or None
        For Replica.gradient.
    """

    batch: Any
    share: float
    states: dict | None


class Strategy:
    """Trains and exchanges. The next master writes `round`, and what else differs for it.

    `lockstep`: whether `round` gets as many steps in all workers, None where one has no more data,
    as a strategy needs that exchanges after each step.

    Parameters
    ----------
    master : ResidentMaster
        The options.
    worker : Worker
        Has the replica, loaded with the state that all start from; the Group; and `update`,
        `gradient`, `apply`, which count what was trained. All exchange must stand inside
        `with worker.exchanging():`, which measures its time.
    """

    lockstep = False

    def __init__(self, master, worker):
        self.master, self.worker = master, worker

    def round(self, steps):
        """Trains one round.

        Called equally often in all workers. Must take all of `steps`, an iterator of
        GradientStep, which may be empty. Afterwards `worker.iteration` is the number of updates
        done, the same in all workers where they keep together.
        """
        raise NotImplementedError

    def end_epoch(self):
        """Called in all workers after the last round of an epoch, before its `state`."""

    def state(self):
        """Returns {"params", "buffers", "slots": vector}: what the fit would end with now.

        And "tables": {"table/array": vector}, as `TrainState.tables`.

        With "master_state": {name: vector of floats} for further state of the master, which
        `worker.master_state` has again where a fit goes on.

        Called in all workers after the same rounds, so it may exchange; the same bits in all. What
        it gives is evaluated, kept in checkpoints, and started from after a worker was lost.
        """
        replica = self.worker.replica
        vectors = {name: getattr(replica, name) for name in ("params", "buffers", "slots")}
        return vectors | {"tables": replica.table_arrays()}

    @contextmanager
    def in_use(self):
        """Gives a replica that has what `state` has, to evaluate; called in all workers."""
        with with_vectors(self.worker.replica, self.state()):
            yield self.worker.replica

    def worker_state(self):
        """Returns {name: vector of floats}: the state of this worker alone, at the same time.

        For example the residual of its codec; `worker.saved_state` has it again where a fit goes
        on. Called in all workers where the state is sent to the driver, after `state`, and must not
        exchange. Where the number of workers changes, per_worker_state.py redistributes it: to a
        vector named RESIDUAL, or whose name ends so after a dot, those of others may be added.
        """
        return {}

    def close(self):
        """Called in all workers at the end, also after a failure; must not wait for others."""


@contextmanager
def with_vectors(replica, vectors):
    """Gives the replica other vectors for a while."""
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
