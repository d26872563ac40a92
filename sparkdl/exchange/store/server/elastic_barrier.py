"""A barrier whose members may leave."""

from threading import Condition


class ElasticBarrier:
    """A barrier that opens once all who are still at work have come."""

    def __init__(self, roster):
        self._roster, self._changed = roster, Condition()
        self._here, self._held = set(), 0
        roster.watch(self._changed)

    def come(self, rank):
        """Waits for the others."""
        with self._changed:
            meeting = self._held
            self._here.add(rank)
            self._settle()
            self._roster.wait(
                self._changed,
                lambda: self._settle() or self._held > meeting,
                lambda: self._roster.active - self._here,
                "the barrier",
            )

    def _settle(self):
        if self._here and self._roster.active <= self._here:
            self._here = set()
            self._held += 1
            self._changed.notify_all()
