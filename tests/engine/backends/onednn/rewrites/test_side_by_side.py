"""Both directions of a recurrent layer at once: the same bits as one after the other."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import base
from sparkdl.engine.ops.recurrent.gru import GruOp
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from sparkdl.engine.ops.recurrent.simple_rnn import SimpleRnnOp
from tests.engine.support import feeds, with_gradients

base.get("onednn")  # a thread limit has no effect on a pool that is not loaded yet
N, STEPS, UNITS = 5, 7, 8
SIZE = 2 * UNITS  # of a step: outputs of both directions
GATES = {LstmOp: (4, 2), GruOp: (3, 1), SimpleRnnOp: (1, 1)}  # gates and states


def arrays_of(kind, rng, units=UNITS, steps=STEPS):
    """Returns x, then each direction's weights and states."""
    gates, states = GATES[kind]
    wide = gates * units
    shapes = [(SIZE, wide), (units, wide), (wide,)] + [(N, units)] * states
    x = rng.normal(size=(N, steps, SIZE))
    both = [0.3 * rng.normal(size=shape) for _ in range(2) for shape in shapes]
    return [array.astype(np.float32) for array in (x, *both)]


def both_ways(kind):
    """Returns the function of a bidirectional layer."""

    def function(x, *rest):
        half = len(rest) // 2
        ahead = kind()(x, *rest[:half])[0]
        back = kind(backwards=True)(x, *rest[half:])[0]
        return ops.tanh(ops.concat([ahead, back], 2))

    return function


def stacked(kind):
    """Stacks two bidirectional layers with the same weights."""
    return lambda x, *rest: both_ways(kind)(both_ways(kind)(x, *rest), *rest)


def run(function, arrays, threads):
    """Returns (outputs with gradients, labels of the steps) of a program on `threads` threads."""
    with threadpool_limits(threads):
        program = compile(with_gradients(function, *arrays), "onednn")
        found = {name: value.copy() for name, value in program.run(feeds(arrays)).items()}
        again = program.run(feeds(arrays))
    assert all(np.array_equal(found[name], again[name]) for name in found)
    return found, [step.op for step in program.steps]


@pytest.mark.slow
@pytest.mark.parametrize("make", [both_ways, stacked])
@pytest.mark.parametrize("kind", GATES, ids=lambda kind: kind.kind)
def test_two_threads_give_the_bits_of_one(kind, make, rng):
    arrays = arrays_of(kind, rng)
    wanted, apart = run(make(kind), arrays, 1)
    found, labels = run(make(kind), arrays, 2)
    layers = 1 if make is both_ways else 2
    joint = [f"{kind.kind} | {kind.kind}", f"{kind.kind}Grad | {kind.kind}Grad"]
    assert [labels.count(label) for label in joint] == [layers, layers]
    assert not [label for label in apart if "|" in label]
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    reference = compile(with_gradients(make(kind), *arrays), "reference").run(feeds(arrays))
    for name, value in reference.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4, err_msg=name)


def test_one_direction_that_waits_for_the_other_stays_apart(rng):
    """A reversed second layer over the same sequence starts from the first one's final state."""
    arrays = arrays_of(GruOp, rng)

    def function(x, *rest):
        first = GruOp()(x, *rest[:4])
        return ops.add(first[0], GruOp(backwards=True)(x, *rest[4:7], first[1])[0])

    wanted, _ = run(function, arrays[:-1], 1)
    found, labels = run(function, arrays[:-1], 2)
    assert not [label for label in labels if "|" in label]
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(("units", "joint"), [(8, True), (640, False)])
def test_more_threads_take_both_at_once_only_where_steps_are_small(units, joint, rng):
    arrays = arrays_of(SimpleRnnOp, rng, units=units, steps=3)
    _, labels = run(both_ways(SimpleRnnOp), arrays, 4)
    assert bool([label for label in labels if "|" in label]) == joint
