"""Results of a case on a backend, as named arrays."""

import numpy as np

from sparkdl.nn.execution.initial_vectors import initial_buffers, initial_params
from sparkdl.nn.execution.replica import Replica
from tests.oracle.data import batch_of
from tests.oracle.memory import of_nan

UPDATES = 5


def start_of(case):
    """Returns the float32 (parameters, buffers) that every backend starts from."""
    params, buffers = initial_params(case.conf), initial_buffers(case.conf)
    if case.shaken:
        rng = np.random.default_rng(case.seed + 1)
        params += rng.normal(0, 0.1, params.shape).astype(np.float32)
        buffers += rng.uniform(0.05, 0.3, buffers.shape).astype(np.float32)
    return params, buffers


class Computation:
    """A case on a backend, which can be computed repeatedly from the same start."""

    def __init__(self, case, backend):
        self.case, self.batch = case, batch_of(case)
        self.replica = Replica(case.conf, backend)
        self.start = (*start_of(case), self.replica.slots.copy())

    def __call__(self):
        """Returns {kind/name: array}: in training the loss, gradients, buffers, and parameters
        after five updates; in inference the losses and predictions.
        """
        self.replica.load(*self.start)
        with of_nan(self.replica.backend):
            found = self.trained() if self.case.training else self.used()
        return {name: np.array(array, np.float64) for name, array in found.items()}

    def used(self):
        predictions, losses = self.replica.losses(self.batch)
        found = {"losses": losses, "prediction/beside losses": predictions}
        for name, prediction in self.replica.forward(self.batch).items():
            found[f"prediction/{name}"] = prediction
        return found

    def trained(self):
        conf, replica = self.case.conf, self.replica
        total, _ = replica.gradient(self.batch)
        found = {"loss": float(total)} | parts("gradient", conf.params_layout, replica.grad)
        found |= parts("buffer", conf.buffers_layout, replica.buffers)
        for t in range(UPDATES):
            if t:
                replica.gradient(self.batch, epoch=t)
            replica.apply(conf.rate_at(t, t), t + 1)
        return found | parts("updated", conf.params_layout, replica.params)


def parts(kind, layout, vector):
    """Returns {kind/name: copy} of the arrays in a vector."""
    views = layout.views(np.array(vector, np.float64))
    return {f"{kind}/{name}": view for name, view in views.items()}
