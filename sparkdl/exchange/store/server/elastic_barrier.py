"""Barrier whose members may leave."""

from threading import Condition


class ElasticBarrier:
    """A barrier that opens once all active workers have arrived."""

    def __init__(self, roster):
        self._roster, self._changed = roster, Condition()
        self._arrived, self._round = set(), 0
        roster.watch(self._changed)

    def come(self, rank):
        """Waits for the other workers."""
        with self._changed:
            round_entered = self._round
            self._arrived.add(rank)
            self._settle()
            self._roster.wait(
                self._changed,
                lambda: self._settle() or self._round > round_entered,
                lambda: self._roster.active - self._arrived,
                "the barrier",
            )

    def _settle(self):
        if self._arrived and self._roster.active <= self._arrived:
            self._arrived = set()
            self._round += 1
            self._changed.notify_all()
