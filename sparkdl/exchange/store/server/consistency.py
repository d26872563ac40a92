"""Rules of the modes of a store: when a push changes a value, and when a pull is answered.

`apply(part, gradient, circumstances)` is what the server does with a gradient.
"""

from dataclasses import dataclass

from sparkdl.exchange.store.server.key_part import Outcome, PulledValue, UpdateContext


@dataclass(frozen=True)
class Synchronous:
    """A value changes once per step, when all workers still at work but `backup` have pushed.

    What comes for a step that is over is dropped, and so is what follows until the worker has
    pulled: it was computed from an old value. References: Chen et al. (2016); TensorFlow's
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
        """Returns the clock that a resuming worker goes on from."""
        return part.version

    def settle(self, part, roster, apply):
        """Changes the value if nobody is missing; with part.changed held."""
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
        """Returns the clock that a resuming worker goes on from."""
        return max(part.clock)

    def settle(self, part, roster, apply):
        """Does nothing: no worker waits."""


@dataclass(frozen=True)
class Bounded(Asynchronous):
    """As Asynchronous, but a worker that has pushed c times pulls only once each other one that is
    still at work has pushed c - staleness times. Reference: Ho et al. (2013).
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
    """As Asynchronous, but values are read and changed while others change them.

    Single numbers are whole, a value as a whole may be a mixture. Only counting takes a lock.
    Reference: Niu et al. (2011).
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
            return PulledValue(part.value, part.version)

    def furthest(self, part):
        """Returns the clock that a resuming worker goes on from."""
        return max(part.clock)

    def settle(self, part, roster, apply):
        """Does nothing: no worker waits."""


def rule_of(options):
    """Returns the rule for the mode of a StoreOptions."""
    return {
        "sync": lambda: Synchronous(options.backup),
        "async": Asynchronous,
        "bounded": lambda: Bounded(options.staleness),
        "hogwild": Hogwild,
    }[options.mode]()
