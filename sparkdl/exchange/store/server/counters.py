"""Counters of a store."""

from collections import Counter
from threading import Lock

COUNTS = ("pushes", "dropped", "pulls", "bytes_in", "bytes_out")


class StoreTally:
    """Counts of one server or client; thread-safe."""

    def __init__(self):
        self._lock, self._counts, self._staleness = Lock(), Counter(), Counter()

    def push(self, outcome, nbytes):
        """Counts a push of `nbytes` with its Outcome."""
        with self._lock:
            self._counts.update(pushes=1, dropped=int(outcome.dropped), bytes_in=nbytes)
            if not outcome.dropped:
                self._staleness[outcome.staleness] += 1

    def pull(self, nbytes):
        """Counts a pull answered with `nbytes`."""
        with self._lock:
            self._counts.update(pulls=1, bytes_out=nbytes)

    def to_dict(self):
        """Returns the counts by name; "staleness" is {updates between pull and push: pushes}."""
        with self._lock:
            return {name: self._counts[name] for name in COUNTS} | {
                "staleness": dict(sorted(self._staleness.items()))
            }


def add_tallies(tallies):
    """Returns the sum of several servers' counts, also of those read from JSON."""
    total, staleness = Counter(), Counter()
    for tally in tallies:
        total.update({name: tally[name] for name in COUNTS})
        staleness.update({int(n): count for n, count in tally["staleness"].items()})
    return {name: total[name] for name in COUNTS} | {"staleness": dict(sorted(staleness.items()))}
