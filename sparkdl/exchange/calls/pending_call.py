"""A call that runs beside the computation."""


class Pending:
    """A call that a `start_` method of a Group has begun."""

    def __init__(self, call, result=None):
        self._call, self._result = call, result

    @property
    def is_done(self):
        """True if `wait` would return, or raise, at once."""
        return self._call.is_done

    def wait(self):
        """Waits for the result of the method without `start_`, and raises what that raises."""
        result = self._call.wait()
        return result if self._result is None else self._result
