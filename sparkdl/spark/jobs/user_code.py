"""Pickling of values for tasks, with the current code of a user's script or notebook.

Classes of such code are pickled by value. cloudpickle identifies them by an id, under which the
receiving process finds its version of the class and replaces the methods. State cached for a
layer, above all compiled programs, would then outlive a change of its code. So a class gets a new
id here if its code, or that of a function or variable it uses, has changed: to executors it is
another class.
"""

import hashlib
import threading
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import cloudpickle

from sparkdl.errors import ConfigError

IDS = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS  # {class: its id}
IDS_LOCK = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_LOCK  # other threads pickle, too
BY_VALUE = b"cloudpickle"  # module named in the pickle of anything that is pickled by value
DIGESTS = WeakKeyDictionary()  # {class: digest of its code when last pickled}
_lock = threading.RLock()


def pickle_value(value: Any) -> tuple[bytes, list[Any]]:
    """Returns (the pickled value, PickleBuffers of its arrays, uncopied).

    Raises ConfigError if it cannot be pickled.
    """
    with _lock:  # another thread could renew ids that this one has just pickled
        rest, arrays = try_pickle(value)
        return try_pickle(value) if BY_VALUE in rest and renew_ids(rest) else (rest, arrays)


def try_pickle(value):
    arrays = []
    try:
        return cloudpickle.dumps(value, 5, arrays.append), arrays
    except Exception as error:  # pickled classes may raise anything
        raise ConfigError(
            "objects for tasks (conf, transform, prepare) must travel to the executors, but "
            f"cannot be pickled: {error}"
        ) from error


def check_pickles(*values: Any) -> None:
    """Raises ConfigError unless the values can be pickled by Spark; renews their classes' ids.

    Spark itself would print a traceback and raise a pickling error.
    """
    pickle_value(values)


def digest_code(rest: bytes) -> bytes | None:
    """Returns a digest of a pickled value that contains code, or None without code."""
    return hashlib.sha256(rest).digest() if BY_VALUE in rest else None


def renew_ids(rest):
    """Drops the ids of classes in a pickled value whose code has changed; returns whether any."""
    ids = class_ids()
    digests = {kind: class_digest(kind) for kind, name in ids.items() if name.encode() in rest}
    changed = [kind for kind in digests if DIGESTS.get(kind, digests[kind]) != digests[kind]]
    DIGESTS.update(digests)
    with IDS_LOCK:
        for kind in changed:
            IDS.pop(kind, None)
    return bool(changed)


def class_ids():
    """Returns {class: its id} of all classes that were pickled by value."""
    with IDS_LOCK:
        return dict(IDS)


def class_digest(kind):
    """Returns a digest of a class as pickled, independent of class ids."""
    rest = cloudpickle.dumps(kind)
    for name in class_ids().values():
        rest = rest.replace(name.encode(), b"")
    return hashlib.sha256(rest).digest()
