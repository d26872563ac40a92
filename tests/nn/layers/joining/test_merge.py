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
