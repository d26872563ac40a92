"""Values that tasks may need until a session ends, each sent once however often it is shared."""

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Any

from sparkdl.spark.jobs.shared_value import SharedValue
from sparkdl.spark.jobs.user_code import pickle_value

MOST = 8  # values of a session that are known again, the last ones used


class LastingValues:
    """SharedValues of the session that runs, by what is in them.

    A DataFrame that is computed on demand, and what is made of it, may need its value at any time,
    so none is destroyed; Spark frees those that nothing refers to. A stream that asks for the same
    in each batch would else fill the driver's disk. What has changed is another value, also where
    arrays were written over.
    """

    def __init__(self):
        self._lock, self._context, self._values = Lock(), None, OrderedDict()

    def share(self, sc: Any, value: Any) -> SharedValue:
        """Returns the SharedValue of a value; ConfigError where it cannot be pickled."""
        key = digest_of(value)
        with self._lock:  # batches of several streams ask at once
            if sc is not self._context:  # the values of another one went with it
                self._context, self._values = sc, OrderedDict()
            if key not in self._values:
                self._values[key] = SharedValue(sc, value)
            self._values.move_to_end(key)
            if len(self._values) > MOST:
                self._values.popitem(last=False)
            return self._values[key]


def digest_of(value):
    """Returns a digest of a value and its arrays; ConfigError where it cannot be pickled."""
    rest, arrays = pickle_value(value)
    digest = hashlib.sha256(rest)
    for array in arrays:
        digest.update(array.raw())
    return digest.digest()


LASTING = LastingValues()
