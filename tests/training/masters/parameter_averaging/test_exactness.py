"""Parameter averaging equals one process on joint batches, and a simulation of separate workers."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data.batches.blocks import permutation
from sparkdl.nn import Adam, Momentum, Sgd, initial_params, initial_slots
from sparkdl.nn.schedules import MultiStepSchedule
from sparkdl.training.network import first_state
from tests.training.problems import (
    EVEN,
    UNEVEN,
    Partitions,
    averaging,
    gradient,
    perceptron,
    rounds_of,
    run,
    softmax_net,
)

# One process on the workers' joint batches, by hand in float64


EXACT = {
    "one worker": (1, EVEN, perceptron(), {}),
    "two": (2, EVEN, perceptron(), {}),
    "three": (3, EVEN, perceptron(), {}),
    "softmax regression": (3, EVEN, softmax_net(optimizer=Sgd(learning_rate=0.5)), {}),
    "one, uneven": (1, UNEVEN, perceptron(), {}),
    "two, uneven": (2, UNEVEN, perceptron(), {}),
    "three, uneven": (3, UNEVEN, perceptron(), {}),
    "short blocks": (3, UNEVEN, perceptron(), {"repartition": "never"}),
    "scattered": (2, UNEVEN, perceptron(), {"repartition": "always"}),
    "weight decay": (3, UNEVEN, perceptron(l2=0.05), {"repartition": "never"}),
    "a tree of sums": (3, EVEN, perceptron(), {"aggregation_depth": 3}),
    "no prefetch": (2, UNEVEN, perceptron(), {"prefetch": 0}),
    "a rate that falls": (
        2,
        EVEN,
        perceptron(
            optimizer=Sgd(learning_rate=MultiStepSchedule(initial=0.5, gamma=0.1, steps=(3, 11)))
        ),
        {},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_equals_one_process_with_all_batches_together_for_20_rounds(name, crews):
    size, counts, conf, options = EXACT[name]
    master, workers = averaging(**options), crews(size)
    states, reports, blocks = run(master, workers, Partitions(counts), conf, rounds=20)
    start = replace(first_state(conf), seed=conf.seed)
    params = initial_params(conf).astype(float)
    plan = rounds_of(master, workers, blocks, start, 20)
    for number, (epoch, chosen) in enumerate(plan):
        x, labels = (
            np.concatenate([getattr(blocks.blocks[i], column) for i in chosen])
            for column in ("features", "labels")
        )
        loss, grad = gradient(conf, params, x, labels)
        params -= conf.optimizer.rate_at(number, epoch) * grad
        assert reports[number].loss == pytest.approx(loss, rel=1e-5)
        assert (reports[number].examples, reports[number].epoch) == (len(x), epoch)
    error = np.abs(states[-1].params - params).max() / np.abs(params).max()
    assert len(states) == 20 and states[-1].rounds == 20
    assert error < 1e-5
    moved = np.abs(params - initial_params(conf)).max() / np.abs(params).max()
    assert moved > 0.1, "else nothing was asked"


# Several separate minibatches, then the mean: a simulation in numpy


def momentum_by_hand(g, slots, rate, t):
    v = 0.9 * slots[0] - rate * g
    return v, [v]


def adam_by_hand(g, slots, rate, t):
    m, v = 0.9 * slots[0] + 0.1 * g, 0.999 * slots[1] + 0.001 * g**2
    return -rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), [m, v]


OPTIMIZERS = {
    "momentum": (Momentum(learning_rate=0.1), momentum_by_hand, 1),
    "adam": (Adam(learning_rate=0.02), adam_by_hand, 2),
    "sgd": (Sgd(learning_rate=0.3), lambda g, slots, rate, t: (-rate * g, []), 0),
}


@pytest.mark.parametrize("averaged", [True, False], ids=["slots averaged", "slots anew"])
@pytest.mark.parametrize("counts", [EVEN, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equals_a_simulation_of_workers_that_train_alone(name, counts, averaged, crews):
    optimizer, update, slot_count = OPTIMIZERS[name]
    conf = perceptron(optimizer=optimizer, l2=0.01)
    master = averaging(averaging_frequency=3, average_optimizer_state=averaged, repartition="never")
    states, _, blocks = run(master, crews(2), Partitions(counts), conf, epochs=3)
    params, iteration = initial_params(conf).astype(float), 0
    zeros = [np.zeros_like(params)] * slot_count
    slots = zeros
    plan = rounds_of(master, crews(2), blocks, first_state(conf), len(states))
    for (epoch, chosen), state in zip(plan, states):
        mean, mean_slots, most = np.zeros_like(params), [0] * slot_count, 0
        for i in chosen:
            block, own, own_slots = blocks.blocks[i], params, slots if averaged else zeros
            order = permutation(conf.seed, epoch, i, n=len(block))
            batches = [order[at : at + 4] for at in range(0, len(block), 4)]
            for step, batch in enumerate(batches):
                _, g = gradient(conf, own, block.features[batch], block.labels[batch])
                t = step + 1 + (iteration if averaged else 0)
                delta, own_slots = update(g, own_slots, optimizer.learning_rate, t)
                own = own + delta
            share = len(block) / sum(blocks.sizes[i] for i in chosen)
            mean = mean + share * own
            mean_slots = [a + share * b for a, b in zip(mean_slots, own_slots)]
            most = max(most, len(batches))
        params, slots, iteration = mean, mean_slots, iteration + most
        assert state.iteration == iteration
        np.testing.assert_allclose(state.params, params, rtol=1e-3, atol=2e-5)
        wanted = np.concatenate(slots) if averaged and slots else initial_slots(conf)
        np.testing.assert_allclose(state.slots, wanted, rtol=1e-3, atol=2e-5)
    if averaged and slot_count:
        assert np.abs(states[-1].slots).max() > 1e-3
