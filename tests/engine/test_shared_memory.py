"""Arrays that may share memory: numpy's answer, without comparing all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import shared_memory
from sparkdl.engine.shared_memory import SharedMemory

STEPS = st.sampled_from([-3, -2, -1, 1, 2, 3])
SIDES = st.integers(-7, 7)


@st.composite
def views(draw):
    """Draws a view of 6 x 6 numbers: sliced, transposed, strided, empty, broadcast or single."""
    cuts = [slice(draw(SIDES), draw(SIDES), draw(STEPS)) for _ in range(2)]
    view = (lambda x: x, np.transpose, lambda x: x[:1], lambda x: np.broadcast_to(x, (2, *x.shape)))
    change = draw(st.sampled_from(view))
    return lambda memory: change(memory[tuple(cuts)])


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 1), views()), min_size=1, max_size=8))
def test_the_answer_is_that_of_numpy(chosen):
    memory = np.zeros((2, 6, 6), np.float32)
    arrays = [view(memory[i]) for i, view in chosen]
    index = SharedMemory(arrays[:-1])
    for array in arrays:
        expected = [i for i, one in enumerate(arrays[:-1]) if np.may_share_memory(one, array)]
        assert index.sharing(array) == expected


def test_each_array_is_looked_at_once(monkeypatch):
    asked = []
    bounds = shared_memory.bounds
    monkeypatch.setattr(shared_memory, "bounds", lambda a: asked.append(a) or bounds(a))
    arrays = [np.zeros(8) for _ in range(200)]
    index = SharedMemory(arrays)
    assert [index.sharing(array) for array in arrays] == [[i] for i in range(200)]
    assert len(asked) == 2 * len(arrays)
