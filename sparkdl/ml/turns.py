"""Fits of one Spark application take turns.

A fit uses all slots that it finds, and workers that talk to each other need theirs at once. Two
fits side by side, as CrossValidator(parallelism=2) asks for, would wait for each other's slots.
One that a listener of a fit begins is part of that fit's turn: it would wait for itself.
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
    """Waits until no other thread's fit of this context runs inside."""
    with _LOCK:
        turn = _TURNS.setdefault(sc, RLock())
    with turn:
        yield
