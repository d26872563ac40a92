"""Handle of a call that runs in the background."""


class Pending:
    """A call begun by a `start_` method of a Group."""

    def __init__(self, call, result=None):
        self._call, self._result = call, result

    @property
    def is_done(self):
        """True if `wait` would return, or raise, at once."""
        return self._call.is_done

    def wait(self):
        """Waits for the result, and returns or raises what the method without `start_` would."""
        result = self._call.wait()
        return result if self._result is None else self._result
