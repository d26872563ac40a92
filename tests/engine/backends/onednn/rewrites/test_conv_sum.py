"""Sums fused into convolutions: the same values, and no fusion where it does not fit."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, Tensor, compile, ops
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


def convolve(x, w, b):
    return ops.add_bias(ops.conv(x, w, padding=1), b, 1)


def blocks(t, w, b):
    """Adds three times, each time to what the last sum became."""
    y = ops.tanh(t["z"])
    for _ in range(3):
        y = ops.relu(ops.add(convolve(ops.tanh(y), w, b), y))
    return y


def read_later(t, w, b):
    z = ops.tanh(t["z"])
    return ops.mul(ops.add(convolve(ops.relu(z), w, b), z), z)


def added_to_itself(t, w, b):
    z = ops.tanh(t["z"])
    return ops.add(convolve(z, w, b), z)


def added_to_a_view(t, w, b):
    z = ops.tanh(t["z"])
    return ops.add(convolve(ops.stop_gradient(z), w, b), z)


def added_to_an_input(t, w, b):
    return ops.add(convolve(ops.tanh(t["z"]), w, b), t["z"])


OVERWRITTEN = {  # the sums that take over the memory of an addend
    "blocks": (blocks, 3),
    "read later": (read_later, 0),
    "added to itself": (added_to_itself, 0),
    "added to a view": (added_to_a_view, 0),
    "added to an input": (added_to_an_input, 0),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_a_sum_takes_over_the_memory_of_its_addend_if_nothing_reads_that_later(name, rng):
    function, count = OVERWRITTEN[name]
    w, b = Tensor(Spec((OUT, OUT, 3, 3)), name="w"), Tensor(Spec((OUT,)), name="b")
    given = {"z": image("z", OUT), "w": w, "b": b}
    graph = Graph(given, {"y": function(given, w, b)})
    program, plain = compile(graph, "onednn"), compile(graph, "reference")
    sums = [step for step in program.steps if "Conv+AddBias+Add" in step.op]
    offsets = program.plan.offsets
    pairs = [(step.node.inputs[3], step.node.outputs[0]) for step in sums]
    shared = [z for z, y in pairs if offsets.get(z) == offsets.get(y, -1)]
    assert sums and len(shared) == count
    for _ in range(2):
        feeds = {n: rng.normal(size=t.shape).astype(np.float32) for n, t in given.items()}
        wanted = plain.run(feeds)["y"].copy()
        np.testing.assert_allclose(program.run(feeds)["y"], wanted, rtol=1e-4, atol=1e-4)
