"""Building a model does not affect the user's random numbers."""

import random
import threading

import numpy as np
import pytest

from sparkdl.interop.live.random_state import keeping_states


def drawn():
    return random.random(), np.random.random()


def test_numbers_go_on_behind_a_block_that_seeds_them():
    random.seed(1), np.random.seed(1)
    expected = drawn()
    random.seed(1), np.random.seed(1)
    with pytest.raises(ZeroDivisionError), keeping_states():
        random.seed(2), np.random.seed(2)
        1 / 0  # noqa: B018
    assert drawn() == expected


@pytest.mark.slow
def test_blocks_of_two_threads_come_one_after_the_other():
    """Otherwise the later one would restore states of the earlier one."""
    random.seed(1), np.random.seed(1)
    expected = drawn()
    random.seed(1), np.random.seed(1)
    inside, may_end = threading.Event(), threading.Event()

    def build():
        with keeping_states():
            inside.set()
            may_end.wait(10)

    other = threading.Thread(target=build)
    with keeping_states():
        random.seed(2), np.random.seed(2)
        other.start()
        inside.wait(0.5)  # it enters here only if nothing blocks it
    may_end.set()
    other.join()
    assert drawn() == expected
