"""Mutual exclusion of fits in a Spark application.

A fit uses all available slots, and communicating workers need theirs at once. Two concurrent fits,
as with CrossValidator(parallelism=2), would wait for each other's slots.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

_LOCK = Lock()
_TURNS: "WeakKeyDictionary[Any, Any]" = WeakKeyDictionary()


@contextmanager
def taking_turns(sc: Any) -> Iterator[None]:
    """Waits until no other fit of this context runs inside."""
    with _LOCK:
        turn = _TURNS.setdefault(sc, RLock())
    with turn:
        yield
