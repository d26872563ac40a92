"""Consistency rules of a store's modes: when a push changes a value, and when a pull is answered.

`apply(part, gradient, circumstances)` updates the part with a gradient.
"""

from dataclasses import dataclass

from sparkdl.exchange.store.server.key_part import Outcome, PulledValue, UpdateContext


@dataclass(frozen=True)
class Synchronous:
    """A value changes once per step, when all active workers except `backup` have pushed.

    A push for a past step is dropped, as are further pushes until that worker has pulled, since
    they were computed from an old value. References: Chen et al. (2016); TensorFlow's
    SyncReplicasOptimizer.
    """

    backup: int

    def push(self, part, roster, rank, gradient, weight, apply):
        with part.changed:
            step = part.clock[rank]
            self._await(part, roster, step)
            if step < part.version:
                return Outcome(True, part.version - step)
            part.pending_pushes.add(rank, gradient, weight)
            part.clock[rank] = step + 1
            self.settle(part, roster, apply)
            return Outcome(False, 0)

    def pull(self, part, roster, rank):
        with part.changed:
            self._await(part, roster, part.clock[rank])
            part.clock[rank] = part.version
            return part.copy_value()

    def furthest(self, part):
        """Returns the clock at which a resuming worker continues."""
        return part.version

    def settle(self, part, roster, apply):
        """Updates the value if no push is missing; the caller holds part.changed."""
        ranks = part.pending_pushes.ranks
        if not ranks or len(ranks) < len(roster.active | ranks) - self.backup:
            return
        gradient, weight = part.pending_pushes.take()
        apply(part, gradient, UpdateContext(None, weight, 0, part.version, 0))
        part.advance()

    def _await(self, part, roster, step):
        roster.wait(
            part.changed,
            lambda: part.version >= step,
            lambda: roster.active - part.pending_pushes.ranks,
            f"pushes to {part.key!r} in step {part.version}",
        )


@dataclass(frozen=True)
class Asynchronous:
    """Each push changes the value at once, one after the other."""

    def push(self, part, roster, rank, gradient, weight, apply):
        with part.changed:
            staleness, others = part.note_push(rank)
            apply(part, gradient, UpdateContext(rank, weight, staleness, part.version, others))
            part.advance()
            return Outcome(False, staleness)

    def pull(self, part, roster, rank):
        with part.changed:
            part.note_pull(rank)
            return part.copy_value()

    def furthest(self, part):
        """Returns the clock at which a resuming worker continues."""
        return max(part.clock)

    def settle(self, part, roster, apply):
        """Does nothing: no worker waits."""


@dataclass(frozen=True)
class Bounded(Asynchronous):
    """As Asynchronous, but a worker with c pushes may pull only once every other active worker has
    made c - staleness pushes. Reference: Ho et al. (2013).
    """

    staleness: int

    def pull(self, part, roster, rank):
        with part.changed:
            least = part.clock[rank] - self.staleness

            def behind():
                return {other for other in roster.active if part.clock[other] < least}

            waiting_for = f"pushes to {part.key!r} up to the {least}th"
            roster.wait(part.changed, lambda: not behind(), behind, waiting_for)
            return super().pull(part, roster, rank)


@dataclass(frozen=True)
class Hogwild:
    """As Asynchronous, but values are read and updated concurrently without a lock.

    Single numbers are consistent, but a value may mix several updates. Only the counters take a
    lock. Reference: Niu et al. (2011).
    """

    def push(self, part, roster, rank, gradient, weight, apply):
        with part.changed:
            version = part.version
            staleness, others = part.note_push(rank)
            part.advance()
        apply(part, gradient, UpdateContext(rank, weight, staleness, version, others))
        return Outcome(False, staleness)

    def pull(self, part, roster, rank):
        with part.changed:
            part.note_pull(rank)
            version = part.version
        return PulledValue(part.value.copy(), version)  # else it changes after its checksum

    def furthest(self, part):
        """Returns the clock at which a resuming worker continues."""
        return max(part.clock)

    def settle(self, part, roster, apply):
        """Does nothing: no worker waits."""


def rule_of(options):
    """Returns the consistency rule for the mode of a StoreOptions."""
    return {
        "sync": lambda: Synchronous(options.backup),
        "async": Asynchronous,
        "bounded": lambda: Bounded(options.staleness),
        "hogwild": Hogwild,
    }[options.mode]()
