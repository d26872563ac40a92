"""What a case gives on a backend, as named arrays."""

import numpy as np

from sparkdl.nn.initial import initial_buffers, initial_params
from sparkdl.nn.replica import Replica
from tests.oracle.data import batch_of

UPDATES = 5


def start_of(case):
    """(parameters, buffers) that every backend starts from, float32 vectors."""
    params, buffers = initial_params(case.conf), initial_buffers(case.conf)
    if case.shaken:
        rng = np.random.default_rng(case.seed + 1)
        params += rng.normal(0, 0.1, params.shape).astype(np.float32)
        buffers += rng.uniform(0.05, 0.3, buffers.shape).astype(np.float32)
    return params, buffers


def computed(case, backend):
    """{kind/name: array}: of a case in training the loss, gradients, buffers and what five updates
    make of the parameters; of one in use the losses and predictions.
    """
    replica, batch = Replica(case.conf, backend), batch_of(case)
    params, buffers = start_of(case)
    replica.load(params.astype(replica.params.dtype), buffers, replica.slots.copy())
    return (trained if case.training else used)(case, replica, batch)


def used(case, replica, batch):
    predictions, losses = replica.losses(batch)
    found = {"losses": losses, "loss_program/prediction": predictions}
    for name, prediction in replica.forward(batch).items():
        found[f"prediction/{name}"] = prediction
    return {name: np.array(array, np.float64) for name, array in found.items()}


def trained(case, replica, batch):
    conf = case.conf
    total, _ = replica.gradient(batch)
    found = {"loss": np.array(float(total))}
    found |= parts("gradient", conf.params_layout, replica.grad)
    found |= parts("buffer", conf.buffers_layout, replica.buffers)
    for t in range(UPDATES):
        if t:
            replica.gradient(batch, epoch=t)
        replica.apply(conf.rate_at(t, t), t + 1)
    return found | parts("updated", conf.params_layout, replica.params)


def parts(kind, layout, vector):
    """{kind/name: copy} of the arrays in a vector."""
    views = layout.views(np.array(vector, np.float64))
    return {f"{kind}/{name}": view for name, view in views.items()}
