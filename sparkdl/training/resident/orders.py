"""The driver's orders to a worker: rounds to stop or to report at, and replies to events.

Workers run ahead of the driver and of each other. When asked to halt, each reports which round it
has begun, and begins no other until the driver has named the largest of these: as the last round,
or as the one after which it wants the state.
"""

import threading

from sparkdl.errors import WorkerError


class Orders:
    """Orders received from the driver; one thread receives them, another obeys them in training.

    Parameters
    ----------
    rounds : int
        Rounds done when the worker begins; the next one counts as begun.
    check : function
        Raises an error once the driver is gone.
    """

    def __init__(self, rounds, check):
        self._changed, self._check = threading.Condition(), check
        self._begun, self._asked, self._words = rounds + 1, False, {}
        self._last, self._wanted = None, None  # rounds

    def take(self, meta):
        """Handles a message of the driver; returns the reply, or None."""
        with self._changed:
            self._changed.notify_all()
            match meta:
                case {"kind": "halt"}:
                    self._asked = True
                    return {"kind": "halting", "begun": self._begun}
                case {"kind": "last", "rounds": int(rounds)}:
                    self._last = rounds
                case {"kind": "snapshot", "rounds": int(rounds)}:
                    self._asked, self._wanted = False, rounds
                case {"kind": "word", "rounds": int(rounds)}:
                    self._words[rounds] = meta
                case _:
                    raise WorkerError(f"the driver must not send {meta}")
        return None

    def wake(self):
        """Wakes waiting threads, so that they check again whether the driver is alive."""
        with self._changed:
            self._changed.notify_all()

    def is_last(self, rounds):
        """Returns whether workers end after this many rounds; if not, marks the next as begun."""
        with self._changed:
            self._wait_for(lambda: not self._asked or self._last is not None)
            if self._last is None:
                self._begun = rounds + 1
            return rounds == self._last

    def wants_state(self, rounds):
        """Returns whether the driver has asked for the state after this many rounds."""
        with self._changed:
            return rounds == self._wanted

    def word(self, rounds):
        """Waits for the driver's reply to the events after this many rounds; returns it."""
        with self._changed:
            self._wait_for(lambda: rounds in self._words)
            return self._words.pop(rounds)

    def _wait_for(self, holds):
        while not holds():
            self._check()
            self._changed.wait()
        self._check()
