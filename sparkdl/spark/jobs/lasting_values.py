"""Values that tasks may need until a session ends, each sent only once."""

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Any

from sparkdl.spark.jobs.shared_value import SharedValue
from sparkdl.spark.jobs.user_code import pickle_value

MOST = 8  # most recently used values of a session that are recognized


class LastingValues:
    """SharedValues of the current session, keyed by content.

    A lazily computed DataFrame, and anything derived from it, may need its value at any time, so
    none is destroyed; Spark frees those that nothing refers to. Without this cache a stream that
    shares the same value in each batch would fill the driver's disk. A changed value is a new one,
    even if its arrays were modified in place.
    """

    def __init__(self):
        self._lock, self._context, self._values = Lock(), None, OrderedDict()

    def share(self, sc: Any, value: Any) -> SharedValue:
        """Returns the SharedValue of a value; raises ConfigError if it cannot be pickled."""
        key = digest_of(value)
        with self._lock:  # several streams may call this at once
            if sc is not self._context:  # values of an earlier context are gone with it
                self._context, self._values = sc, OrderedDict()
            if key not in self._values:
                self._values[key] = SharedValue(sc, value)
            self._values.move_to_end(key)
            if len(self._values) > MOST:
                self._values.popitem(last=False)
            return self._values[key]


def digest_of(value):
    """Returns a digest of a value and its arrays; raises ConfigError if it cannot be pickled."""
    rest, arrays = pickle_value(value)
    digest = hashlib.sha256(rest)
    for array in arrays:
        digest.update(array.raw())
    return digest.digest()


LASTING = LastingValues()
