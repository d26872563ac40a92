"""Fits of one Spark application take turns.

A fit uses all slots that it finds, and workers that talk to each other need theirs at once. Two
fits side by side, as CrossValidator(parallelism=2) asks for, would wait for each other's slots.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

_LOCK = Lock()
_TURNS: "WeakKeyDictionary[Any, Lock]" = WeakKeyDictionary()


@contextmanager
def taking_turns(sc: Any) -> Iterator[None]:
    """Waits until no other fit of this context runs inside."""
    with _LOCK:
        turn = _TURNS.setdefault(sc, Lock())
    with turn:
        yield
