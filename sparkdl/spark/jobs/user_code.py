"""Pickles what tasks are given, with the code of a user's script or notebook as it is now.

Its classes travel by value. cloudpickle gives each of them an id, by which a process finds the
class that it has, and then replaces that one's methods. So whatever a process keeps for a layer, a
compiled program above all, it would keep for another code. A class whose code has changed, or that
of a function or variable which it uses, gets another id here: to executors it is another class.
"""

import hashlib
import threading
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import cloudpickle

from sparkdl.errors import ConfigError

IDS = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS  # {class: its id}
IDS_LOCK = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_LOCK  # other threads pickle, too
BY_VALUE = b"cloudpickle"  # the module that each class and function names which travels by value
DIGESTS = WeakKeyDictionary()  # {class: of its code, when it was pickled last}
_lock = threading.RLock()


def pickle_value(value: Any) -> tuple[bytes, list[Any]]:
    """Returns (the pickled value, PickleBuffers of its arrays, uncopied).

    Raises ConfigError where it cannot be pickled.
    """
    with _lock:  # else another thread may renew ids of what this one has pickled by the old ones
        rest, arrays = try_pickle(value)
        return try_pickle(value) if BY_VALUE in rest and renew_ids(rest) else (rest, arrays)


def try_pickle(value):
    arrays = []
    try:
        return cloudpickle.dumps(value, 5, arrays.append), arrays
    except Exception as error:  # of any kind, from the classes of what is pickled
        raise ConfigError(
            "what tasks are given (conf, transform, prepare) must travel to the executors, but "
            f"cannot: {error}"
        ) from error


def check_pickles(*values: Any) -> None:
    """Raises ConfigError unless values that Spark is about to pickle can be; renews their ids.

    Spark would print a traceback, and raise an error of pickle's.
    """
    pickle_value(values)


def digest_code(rest: bytes) -> bytes | None:
    """Returns a digest of a pickled value that holds code; None where it holds none."""
    return hashlib.sha256(rest).digest() if BY_VALUE in rest else None


def renew_ids(rest):
    """Takes the ids of classes in a pickled value whose code has changed; returns whether any."""
    ids = class_ids()
    digests = {kind: class_digest(kind) for kind, name in ids.items() if name.encode() in rest}
    changed = [kind for kind in digests if DIGESTS.get(kind, digests[kind]) != digests[kind]]
    DIGESTS.update(digests)
    with IDS_LOCK:
        for kind in changed:
            IDS.pop(kind, None)
    return bool(changed)


def class_ids():
    """Returns {class: its id}, of all that were pickled by value."""
    with IDS_LOCK:
        return dict(IDS)


def class_digest(kind):
    """Returns a digest of a class as it travels, whatever ids it and those that it uses have."""
    rest = cloudpickle.dumps(kind)
    for name in class_ids().values():
        rest = rest.replace(name.encode(), b"")
    return hashlib.sha256(rest).digest()
