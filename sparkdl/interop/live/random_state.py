"""Preservation of the process's random state across a block."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np

_one_at_a_time = RLock()  # the state is shared by all threads


@contextmanager
def keeping_states() -> Iterator[None]:
    """Restores the random states of Python and numpy after its block.

    Blocks of several threads run one at a time.
    """
    with _one_at_a_time:
        own, numpys = random.getstate(), np.random.get_state()
        try:
            yield
        finally:
            random.setstate(own)
            np.random.set_state(numpys)
