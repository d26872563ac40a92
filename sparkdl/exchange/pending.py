"""A call that goes on beside the computation."""


class Pending:
    """What a `start_` method of a Group returns."""

    def __init__(self, call, result=None):
        self._call, self._result = call, result

    @property
    def ended(self):
        """Whether `wait` would return, or raise, at once."""
        return self._call.ended

    def wait(self):
        """What the method without `start_` returns; raises what that raises."""
        result = self._call.wait()
        return result if self._result is None else self._result
