"""Masks of concatenated sequences."""

import numpy as np
import pytest

from sparkdl.nn import GraphConf, Vertex, forward, initial_params
from sparkdl.nn.layers import ElementWise, GlobalPool, Merge, Output

A, B = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1]]), np.array([[1.0, 0, 0], [1, 1, 0]])
SHAPES = ((4, 2), (3, 2))
ROWS = {
    "both": ((A, B), np.hstack([A, B])),
    "the first": ((A, None), np.hstack([A, np.ones((2, 3))])),
    "the second": ((None, B), np.hstack([np.ones((2, 4)), B])),
    "none": ((None, None), None),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("axis", [0, -2])
def test_masks_are_joined_along_the_steps(row, axis):
    masks, expected = ROWS[row]
    found = Merge(axis=axis).out_mask(masks, SHAPES)
    np.testing.assert_array_equal(found, expected)


def test_along_the_features_the_first_mask_stays():
    assert Merge().out_mask((None, A), ((4, 2), (4, 3))) is A


def test_padding_of_joined_sequences_is_not_averaged_in(rng):
    joined = Vertex(name="joined", layer=Merge(axis=0), inputs=("a", "b"))
    mean = Vertex(name="mean", layer=GlobalPool(), inputs="joined")
    out = Vertex(name="out", layer=Output(units=2), inputs="mean")
    conf = GraphConf(inputs={"a": SHAPES[0], "b": SHAPES[1]}, vertices=[joined, mean, out])
    params = conf.params_layout.views(initial_params(conf).astype(float))
    x = {"a": rng.normal(size=(2, 4, 2)), "b": rng.normal(size=(2, 3, 2))}
    masks = {"a": A, "b": B}
    found = forward(conf, params, {}, x, masks=masks, outputs=["mean"]).activations["mean"]
    for i in range(2):
        there = [x[name][i][masks[name][i] > 0] for name in x]
        np.testing.assert_allclose(found[i], np.concatenate(there).mean(0), rtol=1e-12)


def test_masks_of_sequences_of_images_go_on():
    """They were lost, so that a recurrent layer behind took padding for steps."""
    shapes = ((4, 2, 3, 3), (4, 1, 3, 3))
    assert Merge(axis=1).out_mask((None, A), shapes) is A
    assert ElementWise().out_mask((A, None), shapes[:1] * 2) is A
    joined = Merge(axis=0).out_mask((A, None), ((4, 2, 2), (3, 2, 2)))
    np.testing.assert_array_equal(joined, np.hstack([A, np.ones((2, 3))]))


def test_the_mask_of_steps_within_steps_goes_before_that_of_the_steps():
    words = np.ones((2, 4, 3))
    assert ElementWise().out_mask((A, words), ((4, 3, 2),) * 2) is words


WORDS = [np.random.default_rng(i).integers(0, 2, (2, 4, 1 + i)).astype(float) for i in range(2)]


def test_masks_of_steps_within_steps_are_joined_along_these():
    """None came out, so that layers behind took padding words for words."""
    shapes = [(4, 1 + i, 5) for i in range(2)]
    found = Merge(axis=1).out_mask(WORDS, shapes)
    np.testing.assert_array_equal(found, np.concatenate(WORDS, 2))
    found = Merge(axis=1).out_mask((WORDS[0], A), shapes)
    np.testing.assert_array_equal(found, np.concatenate([WORDS[0], A[..., None], A[..., None]], 2))
    found = Merge(axis=1).out_mask((None, WORDS[1]), shapes)
    np.testing.assert_array_equal(found, np.concatenate([np.ones((2, 4, 1)), WORDS[1]], 2))


def test_masks_of_steps_within_steps_are_joined_along_the_steps():
    shapes, ones = [(4, 2, 5), (3, 2, 5)], np.ones((2, 3, 2))
    found = Merge(axis=0).out_mask((WORDS[1], None), shapes)
    np.testing.assert_array_equal(found, np.concatenate([WORDS[1], ones], 1))
    found = Merge(axis=0).out_mask((WORDS[1], B), shapes)
    np.testing.assert_array_equal(found, np.concatenate([WORDS[1], ones * B[..., None]], 1))


def test_a_mask_of_steps_within_steps_that_are_gone_is_one_of_the_steps():
    """None came out, so that layers behind took padding for steps."""
    found = ElementWise().out_mask((WORDS[1], None), ((4, 3, 5),) * 2)
    np.testing.assert_array_equal(found, WORDS[1].max(2))
