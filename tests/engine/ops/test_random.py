"""Random numbers per example, against published vectors and statistics."""

import numpy as np
import pytest
import scipy.stats

from sparkdl import philox
from sparkdl.engine import ops
from tests.engine.support import run

# Random123, kat_vectors: philox4x32, 10 rounds; counter, key, answer.
KNOWN = {
    "zeros": ("00000000 00000000 00000000 00000000", "00000000 00000000",
              "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ones": ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
             "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "pi": ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
           "d16cfe09 94fdcceb 5001e420 24126ea1"),
}  # fmt: skip
IDS = np.array([0, 1, 7, 2**40, 2**40 + 1], np.uint64)


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize("name", KNOWN)
def test_philox_gives_the_published_answers(name):
    counter, key, answer = map(words, KNOWN[name])
    found = philox.philox([np.array([c], np.uint64) for c in counter], key)
    assert [int(word[0]) for word in found] == answer


def draw(ids=IDS, epoch=0, shape=(3, 5), seed=1, stream=2):
    return ops.uniform(np.asarray(ids, np.uint64), epoch, shape, seed, stream)


def test_the_numbers_are_uniform_on_0_to_1():
    x = draw(np.arange(500), shape=(400,))
    assert x.dtype == np.float32 and x.min() >= 0 and x.max() < 1
    assert scipy.stats.kstest(x.ravel(), "uniform").pvalue > 1e-3


def draw_normal(ids=IDS, epoch=0, shape=(3, 5), seed=1, stream=2):
    return ops.normal(np.asarray(ids, np.uint64), epoch, shape, seed, stream)


def test_normal_numbers_are_normal():
    x = draw_normal(np.arange(500), shape=(401,))
    assert x.dtype == np.float32 and abs(x).max() < 6.7
    assert scipy.stats.kstest(x.ravel(), "norm").pvalue > 1e-3
    for power, expected in ((1, 0), (2, 1), (3, 0), (4, 3)):
        assert np.mean(x.astype(float) ** power) == pytest.approx(expected, abs=0.1)


def test_normal_neighbors_are_not_correlated():
    x = draw_normal(np.arange(300), shape=(300,))
    for power in (1, 2):
        y = x**power - np.mean(x**power)
        for first, second in ((y[1:], y[:-1]), (y[:, 1:], y[:, :-1]), (y, y.T[::-1])):
            assert abs(np.mean(first * second)) < 5 * np.var(y) / np.sqrt(first.size)


def test_an_example_gets_the_same_normal_numbers_in_any_batch_and_any_length():
    alone = [draw_normal([i])[0] for i in IDS]
    np.testing.assert_array_equal(draw_normal(), alone)
    np.testing.assert_array_equal(draw_normal(shape=(9,))[:, :5], draw_normal(shape=(5,)))
    assert not np.isin(draw_normal(epoch=1), draw_normal()).any()


def test_neighbors_in_any_direction_are_not_correlated():
    x = draw(np.arange(300), shape=(300,)) - 0.5
    later = draw(np.arange(300), epoch=1, shape=(300,)) - 0.5
    pairs = [(x[1:], x[:-1]), (x[:, 1:], x[:, :-1]), (x, later), (x, x.T)]
    for first, second in pairs:
        assert abs(np.mean(first * second)) * 12 < 5 / np.sqrt(first.size)


def test_an_example_gets_the_same_numbers_in_any_batch():
    alone = [draw([i])[0] for i in IDS]
    np.testing.assert_array_equal(draw(), alone)
    np.testing.assert_array_equal(draw(IDS[::-1]), alone[::-1])


def test_the_first_numbers_do_not_depend_on_how_many_are_asked_for():
    np.testing.assert_array_equal(draw(shape=(9,))[:, :5], draw(shape=(5,)))


@pytest.mark.parametrize(
    "other", [{"epoch": 1}, {"seed": 2}, {"stream": 3}, {"seed": 1 + 2**32}, {"ids": IDS + 2**32}]
)
def test_any_change_of_the_key_gives_other_numbers(other):
    assert not np.isin(draw(**other), draw()).any()


def test_a_program_draws_the_same_numbers_and_new_ones_each_epoch():
    epochs = [np.asarray(e, np.uint64) for e in (0, 1)]
    for epoch in epochs:
        (found,) = run(lambda ids, e: ops.uniform(ids, e, (3, 5), 1, 2), IDS, epoch)
        np.testing.assert_array_equal(found, draw(epoch=epoch))
