"""Training on all examples at once, with a solver in place of an optimizer."""

import numpy as np

from sparkdl.errors import ConfigError, NoRecords
from sparkdl.nn.optimization.parameter_options import arrays, constraints_of, rate_factor, spread
from sparkdl.nn.optimization.penalty import add_penalty, penalty


class FullBatch:
    """The mean loss over all examples plus l1 and l2, and its gradient, as a function of
    parameters.

    Random layers draw the same numbers at each call, so the function is deterministic. The gradient
    is 0 for layers whose rate_factor is 0.

    Parameters
    ----------
    replica : Replica
    batches : sequence of Batch
    epoch : int
        Seeds the random numbers.
    """

    def __init__(self, replica, batches, epoch=0):
        self.replica, self.batches, self.epoch = replica, batches, epoch
        self.examples = sum(len(batch) for batch in batches)
        self.factors = spread(replica.conf, rate_factor, other=1)

    def __call__(self, params):
        np.copyto(self.replica.params, params, casting="same_kind")
        loss, grad = 0.0, np.zeros(len(params))
        for batch in self.batches:
            part, examples = self.replica.gradient(batch, self.epoch)
            loss += part
            grad += self.replica.grad * (examples / self.examples)
        conf = self.replica.conf
        value = loss / self.examples + float(penalty(conf, params))
        grad = np.asarray(add_penalty(conf, grad, params), np.float64)
        return value, grad if self.factors is None else grad * (self.factors > 0)


def solve(replica, batches, solver, state):
    """Minimizes the loss with `solver`; returns (TrainState, Solution)."""
    if any(constraints_of(replica.conf, layer, name) for layer, name, _ in arrays(replica.conf)):
        raise ConfigError(
            "solvers support no constraints; train with an optimizer, or without them"
        )
    if replica.conf.bags:
        raise ConfigError("solvers support no GraphConf.bags; train with AllReduceSGD")
    batches = list(batches)
    if not batches:
        raise NoRecords("there are no records to train on")
    replica.load(state.params, state.buffers, state.slots)
    solution = solver.minimize(FullBatch(replica, batches, state.epoch), state.params)
    params = solution.params.astype(state.params.dtype)
    return state.with_weights(params, replica.buffers.copy()), solution
