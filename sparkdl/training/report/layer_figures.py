"""Gradients, updates and dead units of a network, layer by layer."""

import numpy as np

from sparkdl.nn.execution.layer_activity import largest_outputs
from sparkdl.nn.inputs.tbptt import chunks
from sparkdl.training.report.weights import MOST, histogram
from sparkdl.training.reporting.early_stopping import epoch_of
from sparkdl.training.reporting.inspection import ArrayFigures, LayerReport

DIGITS = 5


def inspect_layers(inspection, replica, batch, state):
    """Adds the layers' figures on a batch to an Inspection; the replica must hold the state's
    vectors.

    The vectors are changed, as a trial step is made.
    """
    dead = {
        name: (int((largest <= 0).sum()), largest.size)
        for name, largest in largest_outputs(replica, batch).items()
    }
    gradient, update = step(replica, batch, state)
    vectors = state.params, gradient, update
    parameters, gradients, updates = map(replica.conf.params_layout.views, vectors)
    arrays = {
        name: ArrayFigures(*map(magnitude, (array, gradients[name], updates[name])))
        for name, array in parameters.items()
    }
    place = {"iteration": state.iteration, "epoch": epoch_of(state)}
    inspection.add(LayerReport(**place, arrays=arrays, dead=dead))
    names = list(arrays)[:MOST]
    inspection.gradients = [histogram(name, np.asarray(gradients[name])) for name in names]
    inspection.updates = [histogram(name, np.asarray(updates[name])) for name in names]


def step(replica, batch, state):
    """Returns the gradient of a batch, and the change of parameters in the next update."""
    chunk, _, states = next(chunks(replica.conf, batch))
    rate = replica.conf.rate_at(state.iteration, state.epoch) * state.rate_factor
    replica.gradient(chunk, state.epoch, states=states)
    gradient = replica.grad.copy()
    replica.iteration = state.iteration
    replica.apply(rate, state.iteration + 1)
    return gradient, replica.params - state.params


def magnitude(array):
    """Returns the mean of |array| with a few digits; NaN if it is not finite."""
    with np.errstate(all="ignore"):
        return float(f"{np.abs(array).mean(dtype=np.float64):.{DIGITS}g}")
