"""Methods that one thread runs after the other."""

from functools import wraps


def one_at_a_time(method):
    """Returns a method that holds the object's `lock`: what it computes in is shared."""

    @wraps(method)
    def locked(self, *values, **options):
        with self.lock:
            return method(self, *values, **options)

    return locked
