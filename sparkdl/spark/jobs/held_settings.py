"""Settings of Spark that jobs need otherwise while they run, though other threads share them."""

from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_held = {}  # {key: (how many hold the setting, what the user had)}


@contextmanager
def hold_setting(key, value, read, write):
    """Has a setting be `value` inside; the last of those inside puts back what the first found.

    Parameters
    ----------
    key : hashable
        The setting's name, and whose it is. All who hold it give the same value.
    read : function () -> str or None
        Returns the setting, None where it is not set.
    write : function of a str or None
        Sets it, or removes it.
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
    """Has a setting be `value` for a moment, in which nobody begins or ends to hold it.

    Whoever did would find that value, or have it put back over what they leave.
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
