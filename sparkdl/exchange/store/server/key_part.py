"""The numbers of one key that one server holds."""

from threading import Condition
from typing import Any, NamedTuple

from sparkdl.exchange.store.server.pending_pushes import PendingPushes


class Outcome(NamedTuple):
    """The result of a push.

    `staleness` is the number of updates between the worker's last pull and the one it pushed for
    (of dropped ones: how many steps too late they came).
    """

    dropped: bool
    staleness: int


class PulledValue(NamedTuple):
    """A value, not to be changed, and the number of updates that it has had."""

    value: Any
    version: int


class UpdateContext(NamedTuple):
    """The context of an update, passed beside its gradient.

    `rank` is None where the gradient is of several workers; `version` counts the updates before.
    Of the `staleness` those updates are the `others` that the worker did not push itself.
    """

    rank: int | None
    weight: float
    staleness: int
    version: int
    others: int


class KeyPart:
    """A value, what the optimizer keeps beside it, and how far each worker has come.

    Attributes
    ----------
    value : array (n,)
        Changed in place.
    slots : {name: array or number}
        Of the optimizer.
    version : int
        Number of updates so far.
    clock : list of int
        By rank: the step that its next push is for ("sync"), or how often it has pushed.
    last_pulled : list of int
        By rank: the version that it has pulled last.
    own_pushes : list of int
        By rank: how often it has pushed since.
    changed : Condition
        Its lock guards all of these.
    """

    def __init__(self, key, value, size):
        self.key, self.value, self.slots = key, value, {}
        self.version, self.clock = 0, [0] * size
        self.last_pulled, self.own_pushes = [0] * size, [0] * size
        self.changed, self.pending_pushes = Condition(), PendingPushes()
        self._copy = None

    def advance(self):
        """Counts an update, and wakes those who wait for it."""
        self.version += 1
        self._copy = None
        self.changed.notify_all()

    def note_push(self, rank):
        """Counts a push, to be applied at once; returns (staleness, updates of others in it)."""
        staleness = self.version - self.last_pulled[rank]
        others = staleness - self.own_pushes[rank]
        self.clock[rank] += 1
        self.own_pushes[rank] += 1
        return staleness, others

    def note_pull(self, rank):
        """Notes that a worker has pulled the value as it is now."""
        self.last_pulled[rank], self.own_pushes[rank] = self.version, 0

    def copy_value(self):
        """Returns the value as it is now, PulledValue; pulls of one version share one copy."""
        if self._copy is None:
            self._copy = self.value.copy()
            self._copy.flags.writeable = False
        return PulledValue(self._copy, self.version)
