"""Sums fused into convolutions: the same values, and no fusion where it does not fit."""

import numpy as np
import pytest

from sparkdl.engine import Spec, Tensor, ops
from tests.engine.backends.onednn.rewrites.comparison import results

N, C, OUT = 3, 6, 5


def image(name, channels):
    return Tensor(Spec((N, channels, 8, 8)), name=name)


def inputs():
    """Returns x, the filters and bias of a convolution, and the addend."""
    w, b = Tensor(Spec((OUT, C, 3, 3)), name="w"), Tensor(Spec((OUT,)), name="b")
    return {"x": image("x", C), "w": w, "b": b, "z": image("z", OUT)}


def conv(t):
    return ops.add_bias(ops.conv(t["x"], t["w"], padding=1), t["b"], 1)


def convolved_again(t):
    """Adds two convolutions."""
    return ops.relu(ops.add(conv(t), ops.relu(ops.add(t["z"], conv(t)))))


JOINED = {
    "sum": lambda t: ops.add(conv(t), t["z"]),
    "other way round": lambda t: ops.add(t["z"], conv(t)),
    "relu": lambda t: ops.relu(ops.add(conv(t), t["z"])),
    "tanh": lambda t: ops.tanh(ops.add(conv(t), t["z"])),
    "two": convolved_again,
}
APART = {
    "activated before": lambda t: ops.add(ops.relu(conv(t)), t["z"]),
    "one number a channel": lambda t: ops.add(conv(t), ops.mean(t["z"], (2, 3), keepdims=True)),
    "without bias": lambda t: ops.add(ops.conv(t["x"], t["w"], padding=1), t["z"]),
}


@pytest.mark.parametrize("name", JOINED)
def test_a_sum_is_part_of_the_convolution(name, rng):
    wanted, found, labels = results(inputs(), JOINED[name], rng)
    assert any("Conv+AddBias+Add" in label for label in labels)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", APART)
def test_other_sums_stay(name, rng):
    wanted, found, labels = results(inputs(), APART[name], rng)
    assert not any("Conv+AddBias+Add" in label for label in labels)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_convolution_that_is_read_twice_stays(rng):
    def function(t):
        y = conv(t)
        return ops.mul(ops.add(y, t["z"]), y)

    wanted, found, labels = results(inputs(), function, rng)
    assert not any("Conv+AddBias+Add" in label for label in labels)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
