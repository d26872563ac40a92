"""Random numbers of the process, which go on behind a block as if it had not been."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np

_one_at_a_time = RLock()  # they are those of all threads


@contextmanager
def keeping_states() -> Iterator[None]:
    """Gives Python's and numpy's random numbers their states back behind its block.

    Blocks of several threads come one after the other.
    """
    with _one_at_a_time:
        own, numpys = random.getstate(), np.random.get_state()
        try:
            yield
        finally:
            random.setstate(own)
            np.random.set_state(numpys)
