"""Workers of resident masters, simulated in numpy with float64."""

from dataclasses import dataclass, replace

import numpy as np

from sparkdl.data.batches.blocks import permutation
from sparkdl.nn import Momentum, initial_params
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from tests.training.master_table import schedule_of
from tests.training.problems import Partitions, gradient, perceptron

CONF = perceptron(optimizer=Momentum(learning_rate=0.1), l2=0.01)


@dataclass
class Hand:
    """A worker that trains by SGD with momentum, one minibatch at a time."""

    params: np.ndarray
    slots: np.ndarray
    examples: float = 0.0
    loss: float = 0.0

    def step(self, batch):
        loss, grad = gradient(CONF, self.params, *batch)
        self.slots = 0.9 * self.slots - CONF.optimizer.learning_rate * grad
        self.params = self.params + self.slots
        self.examples += len(batch[1])
        self.loss += loss * len(batch[1])


def crew(size, params=None, slots=None):
    """Returns `size` workers with these vectors, or with those of a new fit."""
    params = initial_params(CONF).astype(float) if params is None else params
    slots = np.zeros_like(params) if slots is None else slots
    return [Hand(params, slots) for _ in range(size)]


def mean(hands):
    """Returns the means of params and slots, weighted by examples, and resets the counts."""
    weights = np.array([hand.examples for hand in hands]) / sum(h.examples for h in hands)
    for hand in hands:
        hand.examples = 0.0
    vectors = [[hand.params, hand.slots] for hand in hands]
    return np.tensordot(weights, vectors, 1)


class Keep(Listener):
    def __init__(self):
        self.states = []

    def on_round(self, report, state):
        self.states.append(state)


def states_of(master, workers, counts, epochs=3, conf=CONF):
    """Yields (epoch, [minibatches of each worker], state afterwards) for each round of a fit.

    A minibatch is a pair (features, labels).
    """
    master = replace(master, seed=CONF.seed, snapshot_every=1)
    data, keep = Partitions(counts), Keep()
    Network(conf).fit(data, epochs, master, workers, listeners=[keep])
    blocks = workers.load(data, schema_of(conf), master.records_per_block, master)
    schedule, _ = schedule_of(blocks, workers, conf)
    rounds = [(epoch, chosen) for epoch in range(epochs) for chosen in schedule.rounds(epoch)]
    for (epoch, chosen), state in zip(rounds, keep.states, strict=True):
        yield epoch, [minibatches(master, blocks, number, epoch) for number in chosen], state


def minibatches(master, blocks, number, epoch):
    if number is None:
        return []
    block, size = blocks.blocks[number], master.batch_size_per_worker
    order = permutation(master.seed, epoch, number, n=len(block))
    cuts = [order[at : at + size] for at in range(0, len(block), size)]
    return [(block.features[cut], block.labels[cut]) for cut in cuts]
