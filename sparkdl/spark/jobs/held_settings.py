"""Temporary changes to Spark settings that several threads share."""

from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_held = {}  # {key: (number of holders, the user's value)}


@contextmanager
def hold_setting(key, value, read, write):
    """Sets a setting to `value` inside; the last holder restores what the first found.

    Parameters
    ----------
    key : hashable
        The setting's name, and its owner. All holders must give the same value.
    read : function () -> str or None
        Returns the setting, None if it is not set.
    write : function of a str or None
        Sets or removes it.
    """
    with _lock:
        count, before = _held.get(key) or (0, read())
        write(value)
        _held[key] = count + 1, before
    try:
        yield
    finally:
        with _lock:
            count, before = _held.pop(key)
            if count > 1:
                _held[key] = count - 1, before
            else:
                write(before)


@contextmanager
def override_setting(value, read, write):
    """Sets a setting to `value` for a moment, during which no holder may enter or leave.

    A holder would see that value, or have its own change undone.
    """
    with _lock:
        before = read()
        write(value)
        try:
            yield
        finally:
            write(before)


def context_setting(sc, name):
    """Returns functions that read and write a setting of a SparkContext; see `hold_setting`."""
    conf = sc._jsc.sc().conf()

    def write(value):
        conf.remove(name) if value is None else conf.set(name, value)

    return lambda: conf.get(name, None), write
