"""Serialization of methods across threads."""

from functools import wraps


def one_at_a_time(method):
    """Makes a method hold the object's `lock`, as it computes in shared memory."""

    @wraps(method)
    def locked(self, *values, **options):
        with self.lock:
            return method(self, *values, **options)

    return locked
