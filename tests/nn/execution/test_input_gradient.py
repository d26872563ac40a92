"""Gradient of the loss with respect to the input, against a derivation by hand."""

import numpy as np
import pytest

from sparkdl.nn import Dense, LossLayer, NetworkConf, Output
from sparkdl.nn.execution.batch_tensors import identity_inputs
from sparkdl.nn.execution.input_gradient import SLOPE, input_gradient_program
from sparkdl.nn.execution.replica import Replica

N = 6


def run(replica, x, labels):
    columns = {"features": x, "labels": labels}
    shapes = tuple((name, column.shape) for name, column in columns.items())
    program = input_gradient_program(replica, shapes)
    fed = columns | identity_inputs(np.arange(N, dtype=np.uint64), 0)
    slope = program.run(fed)[SLOPE].copy()
    return float(program.number("loss")), slope


@pytest.mark.parametrize(
    "layers", [[LossLayer()], [Output(units=4)], [Dense(units=4), Output(units=4)]]
)
def test_it_is_the_one_by_hand(layers, rng):
    replica = Replica(NetworkConf(input_shape=(4,), layers=layers, seed=2))
    x, labels = rng.normal(size=(N, 4)).astype(np.float32), rng.integers(0, 4, N)
    loss, slope = run(replica, x, labels.astype(np.int32))
    arrays = [view.astype(float) for view in replica.arrays()[0].values()]
    weights, biases = arrays[::2], arrays[1::2]
    z = x.astype(float)
    for w, b in zip(weights, biases):
        z = z @ w + b
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    expected = (p - np.eye(4)[labels]) / N
    for w in reversed(weights):
        expected = expected @ w.T
    assert loss == pytest.approx(-np.log(p[range(N), labels]).sum(), rel=1e-5)
    np.testing.assert_allclose(slope, expected, atol=1e-6)
