"""Means of buffers match numpy; a number that no worker changed keeps its bits."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.nn.layout import Layout
from sparkdl.training.resident import buffer_mean
from sparkdl.training.resident.buffer_mean import Infinities, mean_buffers
from tests.training.problems import whole_net

LEAST = np.finfo(np.float32).min
LAYOUT = Layout((("mask/fill", (2,)), ("norm/mean", (3,)), ("norm/empty", (0,)), ("a/b", (1,))))
START = np.float32([-np.inf, LEAST, 0.1, np.inf, 0.3, 0.7])
MOVES = {  # {place: number} changed by each worker, examples of each
    "none has changed a thing": ([{}, {}, {}], [5, 0, 2]),
    "all have changed one array": ([{2: 1, 3: 2, 4: 3}, {2: 4, 3: 7, 4: 1}, {3: 1}], [3, 1, 2]),
    "one has no examples": ([{2: 1, 3: 2}, {}, {2: 2, 3: 3}], [3, 0, 2]),
    "a number is as it was": ([{2: 1, 5: 0.5}, {2: 3}], [1, 1]),
    "a worker alone": ([{2: 1}], [3]),
}


class Sums:
    """A Group of threads that records the lengths of its messages."""

    def __init__(self, size):
        self.given, self.barrier, self.lengths = [], Barrier(size), []

    def all_reduce(self, x, op="sum"):
        self.given.append(x.copy())
        self.barrier.wait(10)
        add = {"sum": np.sum, "max": np.max}[op]
        result = add(sorted(self.given, key=bytes), axis=0)
        if self.barrier.wait(10) == 0:
            self.given.clear()
            self.lengths.append(len(x))
        self.barrier.wait(10)
        x[...] = result


def means(vectors, weights, owns=None, start=START, layout=LAYOUT):
    """Returns (buffers of each worker after a mean, lengths of the messages)."""
    size = len(vectors)
    group, conf = Sums(size), SimpleNamespace(buffers_layout=layout)
    workers = [
        SimpleNamespace(
            replica=SimpleNamespace(buffers=vector.copy()),
            start_buffers=start.copy(),
            **{"group": group, "size": size, "conf": conf, "exchanging": nullcontext},
        )
        for vector in vectors
    ]
    with ThreadPoolExecutor(size) as pool:
        list(pool.map(mean_buffers, workers, weights, owns or [None] * size))
    for worker in workers[: size * (size > 1)]:
        np.testing.assert_array_equal(worker.start_buffers, worker.replica.buffers)
    return [worker.replica.buffers for worker in workers], group.lengths


def moved(changes):
    vector = START.copy()
    for place, number in changes.items():
        vector[place] = number
    return vector


@pytest.mark.parametrize("few", [0, 99])
@pytest.mark.parametrize("name", MOVES)
def test_what_has_changed_is_the_mean_and_the_rest_as_it_was(name, few, monkeypatch):
    monkeypatch.setattr(buffer_mean, "FEW", few)
    moves, examples = MOVES[name]
    vectors = [moved(changes) for changes in moves]
    trained = [i for i, count in enumerate(examples) if count]
    with np.errstate(all="ignore"):
        weights = np.float64(examples)[trained, None]
        expected = (np.float64(vectors)[trained] * weights).sum(0) / weights.sum()
    found, lengths = means(vectors, examples)
    changed = np.isin(np.arange(len(START)), [place for changes in moves for place in changes])
    for one in found:
        np.testing.assert_allclose(one[changed], expected[changed], rtol=1e-6)
        assert one[~changed].tobytes() == START[~changed].tobytes()
        assert one.tobytes() == found[0].tobytes()
    arrays = {name for name, part in LAYOUT.slices.items() if few or changed[part].any()}
    sent = 2 * sum(LAYOUT.slices[name].stop - LAYOUT.slices[name].start for name in arrays) + 1
    asked, many = [len(LAYOUT.slices)] * (few == 0), [sent] * (sent > 1)
    assert lengths == (asked + many if len(moves) > 1 else [])


def test_each_number_is_the_mean_of_those_who_have_it():
    """Workers 0 and 1 own the first array of two networks, worker 2 the second."""
    layout = Layout((("one/a", (2,)), ("two/a", (2,))))
    start, owns = np.float32([1, 2, 3, np.inf]), np.array([[1, 1, 0, 0]] * 2 + [[0, 0, 1, 1]]) > 0
    vectors = np.float32([[5, 2, 3, np.inf], [9, 2, 3, np.inf], [1, 2, 4, np.inf]])
    found, _ = means(vectors, [0.25, 0.75, 1.0], list(owns), start, layout)
    for one in found:
        np.testing.assert_array_equal(one, np.float32([8, 2, 4, np.inf]))


def test_what_is_no_number_is_not_hidden():
    vectors = [moved({3: np.nan}), moved({2: 1})]
    found, _ = means(vectors, [1, 0])
    assert np.isnan(found[0][3])


KEEPING = SimpleNamespace(keeps_constants=True)  # a live model
AFTER = {
    "as at the start": ({}, True),
    "finite now": ({0: 1.0}, True),
    "infinite now": ({2: np.inf}, False),
    "no number now": ({2: np.nan}, False),
    "no number where it was infinite": ({0: np.nan}, False),
    "infinite the other way": ({0: np.inf}, False),
    "infinite elsewhere": ({0: 0.0, 2: -np.inf}, False),
}


@pytest.mark.parametrize("name", AFTER)
def test_infinities_from_the_start_are_told_from_those_of_training(name):
    changes, holds = AFTER[name]
    assert Infinities(KEEPING, START).are_all_in(moved(changes)) is holds


def test_what_is_no_number_at_the_start_is_no_constant():
    assert not Infinities(KEEPING, moved({2: np.nan})).are_all_in(moved({2: np.nan}))
    before, after = np.float32([[1, LEAST, LEAST], [2, LEAST, LEAST]])
    assert Infinities(KEEPING, before).are_all_in(after)


def test_native_networks_have_no_infinite_constants():
    """There an infinite running variance of a batch norm means divergence."""
    conf = whole_net()
    assert not Infinities(conf, START).are_all_in(START)
    assert Infinities(conf, START).are_all_in(np.float32([1, LEAST, LEAST]))
