"""Part of a key's numbers that one server holds."""

from threading import Condition
from typing import Any, NamedTuple

from sparkdl.exchange.store.server.pending_pushes import PendingPushes


class Outcome(NamedTuple):
    """The result of a push.

    `staleness` is the number of updates between the worker's last pull and its push; for a dropped
    push, the number of steps by which it was late.
    """

    dropped: bool
    staleness: int


class PulledValue(NamedTuple):
    """A value, not to be modified, and the number of updates it has had."""

    value: Any
    version: int


class UpdateContext(NamedTuple):
    """Context of an update, passed along with its gradient.

    `rank` is None if the gradient comes from several workers; `version` is the number of previous
    updates. `others` is the part of `staleness` that the worker did not push itself.
    """

    rank: int | None
    weight: float
    staleness: int
    version: int
    others: int


class KeyPart:
    """A value, its optimizer state, and the progress of each worker.

    Attributes
    ----------
    value : array (n,)
        Updated in place.
    slots : {name: array or number}
        Optimizer state.
    version : int
        Number of updates so far.
    clock : list of int
        By rank: the step of its next push ("sync"), or the number of its pushes.
    last_pulled : list of int
        By rank: the version of its last pull.
    own_pushes : list of int
        By rank: the number of its pushes since then.
    changed : Condition
        Its lock guards all of the above.
    """

    def __init__(self, key, value, size):
        self.key, self.value, self.slots = key, value, {}
        self.version, self.clock = 0, [0] * size
        self.last_pulled, self.own_pushes = [0] * size, [0] * size
        self.changed, self.pending_pushes = Condition(), PendingPushes()
        self._copy = None

    def advance(self):
        """Counts an update, and wakes the threads that wait for it."""
        self.version += 1
        self._copy = None
        self.changed.notify_all()

    def note_push(self, rank):
        """Counts a push that is applied at once; returns (staleness, updates by others in it)."""
        staleness = self.version - self.last_pulled[rank]
        others = staleness - self.own_pushes[rank]
        self.clock[rank] += 1
        self.own_pushes[rank] += 1
        return staleness, others

    def note_pull(self, rank):
        """Records that a worker has pulled the current value."""
        self.last_pulled[rank], self.own_pushes[rank] = self.version, 0

    def copy_value(self):
        """Returns the current value as a PulledValue; pulls of one version share a copy."""
        if self._copy is None:
            self._copy = self.value.copy()
            self._copy.flags.writeable = False
        return PulledValue(self._copy, self.version)
