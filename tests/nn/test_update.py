"""The order of an update: clip, penalty, updater."""

import numpy as np

from sparkdl.nn import ClipNorm, Momentum, NetworkConf, Output, updated
from tests.nn.support import run_as_graph


def test_clips_then_adds_the_penalty_then_steps():
    conf = NetworkConf(
        input_shape=(1,),
        layers=[Output(units=1)],
        clipping=ClipNorm(limit=1.0),
        l2=0.5,
        updater=Momentum(rate=0.1, momentum=0.5),
    )
    params, grad = np.array([2.0, 4.0]), np.array([3.0, 4.0])  # a weight and a bias; norm 5
    slots = {"velocity": np.array([1.0, 1.0])}
    after, new_slots = updated(conf, params, grad, slots, 0.1, 1)
    velocity = [0.5 - 0.1 * (0.6 + 0.5 * 2), 0.5 - 0.1 * 0.8]
    np.testing.assert_allclose(new_slots["velocity"], velocity)
    np.testing.assert_allclose(after, [2 + velocity[0], 4 + velocity[1]])

    def graph(params, grad, velocity, rate, t):
        after, slots = updated(conf, params, grad, {"velocity": velocity}, rate, t)
        return after, slots["velocity"]

    arrays = [params, grad, slots["velocity"], np.array(0.1), np.array(1.0)]
    results = run_as_graph(graph, *arrays)
    np.testing.assert_allclose(results[0], after, rtol=1e-12)
    np.testing.assert_allclose(results[1], new_slots["velocity"], rtol=1e-12)
