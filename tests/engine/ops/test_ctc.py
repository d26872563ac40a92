"""The CTC loss against enumeration of all alignments, and in edge cases."""

from itertools import groupby, product

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.ops.ctc import CtcLossGradOp
from sparkdl.errors import ShapeError


@pytest.fixture
def logits():
    return np.random.default_rng(4).normal(size=(1, 4, 3))


def spelled(path, blank):
    return [label for label, _ in groupby(path) if label != blank]


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("word", [[], [1], [1, 1], [0, 1], [1, 0, 1]])
def test_it_is_the_probability_of_all_ways_to_spell_the_word(word, blank, logits):
    labels = [label + 1 if blank == 0 else label for label in word]
    p = ops.softmax(logits)[0]
    ways = [path for path in product(range(3), repeat=4) if spelled(path, blank) == labels]
    total = sum(np.prod(p[np.arange(4), path]) for path in ways)
    padded = np.full((1, 3), -1)
    padded[0, : len(labels)] = labels
    np.testing.assert_allclose(ops.ctc_loss(logits, padded, blank=blank), [-np.log(total)])


def test_steps_that_a_mask_leaves_out_do_not_matter(logits):
    labels, mask = np.array([[1, 2]]), np.array([[1.0, 0, 1, 0]])
    expected = ops.ctc_loss(logits[:, [0, 2]], labels)
    np.testing.assert_allclose(ops.ctc_loss(logits, labels, mask), expected)
    grad = CtcLossGradOp()(np.ones(1), logits, labels, mask)
    np.testing.assert_allclose(
        grad[:, [0, 2]],
        CtcLossGradOp()(np.ones(1), logits[:, [0, 2]], labels, np.ones((1, 2))),
    )
    assert not grad[:, [1, 3]].any()


def test_a_word_that_does_not_fit_has_an_infinite_loss_and_no_gradient(logits):
    labels, mask = np.array([[1, 1, 2]]), np.array([[1.0, 1, 1, 0]])  # needs four steps
    assert np.isfinite(ops.ctc_loss(logits, labels)).all()
    np.testing.assert_array_equal(ops.ctc_loss(logits, labels, mask), [np.inf])
    assert not CtcLossGradOp()(np.ones(1), logits, labels, mask).any()


def test_a_long_sequence_keeps_its_precision_in_float32():
    rng = np.random.default_rng(5)
    logits, labels = 10 * rng.normal(size=(3, 500, 20)), rng.integers(1, 20, (3, 60))
    exact = ops.ctc_loss(logits, labels)
    found = ops.ctc_loss(logits.astype(np.float32), labels)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=1e-5)


REFUSED = {
    "rows": ([(2, 3), (2, 1), (2, 3)], 0, r"takes \(N, T, C\) and \(N, L\)"),
    "another batch": ([(2, 3, 4), (3, 1), (2, 3)], 0, r"needs \(\(2, 'L'\), \(2, 3\)\)"),
    "another mask": ([(2, 3, 4), (2, 1), (2, 4)], 0, r"got \(2, 1\) and \(2, 4\)"),
    "no such blank": ([(2, 3, 4), (2, 1), (2, 3)], 4, "the blank 4 is none of 4 classes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    (logits, labels, mask), blank, message = REFUSED[case]
    with pytest.raises(ShapeError, match=message):
        ops.ctc_loss(np.zeros(logits), np.zeros(labels, int), np.zeros(mask), blank)


def test_refuses_labels_that_are_no_integers():
    with pytest.raises(ShapeError, match="labels need an integer type, got float64"):
        ops.ctc_loss(np.zeros((2, 3, 4)), np.zeros((2, 1)))
