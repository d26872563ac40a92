"""Recurrent layers. The LSTM gates in a file are candidate, forget, output, input.

References
----------
Graves, Supervised sequence labelling with recurrent neural networks (2012), which
Deeplearning4j's GravesLSTM follows: the peepholes of forget, output and input gate are the last
three columns of its recurrent weights.
"""

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.layers.dense import n_in
from sparkdl.interop.dl4j.members import activation
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.interop.dl4j.places import Take, array
from sparkdl.nn import layers as nn

MODES = {"concat": "concat", "add": "add", "mul": "mul", "average": "average"}


def gates(values):
    """Reorders gates (..., 4 units) to input, forget, candidate, output."""
    candidate, forget, output, into = np.split(values, 4, axis=-1)
    return np.concatenate([into, forget, candidate, output], axis=-1)


def recurrent_gates(values):
    """Returns the recurrent weights (units, 4 units) from (units, 4 units + 3)."""
    return gates(values[:, : 4 * len(values)])


def peepholes(values):
    """Returns the peepholes (3 units,) from (units, 4 units + 3), as input, forget, output."""
    forget, output, into = values[:, 4 * len(values) :].T
    return np.concatenate([into, forget, output])


def lstm(kind, options, trained):
    function = activation(options.take("activationfn"))
    options.need(function == "tanh", "activation", function)
    gate = activation(options.take("gateactivationfn", "sigmoid"))
    return kind(units=options.size("nout"), gate_activation=gate, return_sequences=True, **trained)


def lstm_arrays(layer, width, prefix=""):
    units = layer.units
    if isinstance(layer, nn.GravesLSTM):
        parts = {f"{prefix}RW": recurrent_gates, f"{prefix}P": peepholes}
        again = Take(shape=(units, 4 * units + 3), order="F", parts=parts)
    else:
        again = array(f"{prefix}RW", (units, 4 * units), "F", gates)
    return [
        array(f"{prefix}W", (width, 4 * units), "F", gates),
        again,
        array(f"{prefix}b", (4 * units,), change=gates, bias=True),
    ]


def simple_rnn(options, trained):
    options.only(haslayernorm=False)
    function = activation(options.take("activationfn"))
    units = options.size("nout")
    return nn.SimpleRnn(units=units, activation=function, return_sequences=True, **trained)


def simple_arrays(layer, width, prefix=""):
    return [
        array(f"{prefix}W", (width, layer.units), "F"),
        array(f"{prefix}RW", (layer.units, layer.units), "F"),
        array(f"{prefix}b", (layer.units,), bias=True),
    ]


CELLS = {
    "graveslstm": (lambda *given: lstm(nn.GravesLSTM, *given), lstm_arrays),
    "lstm": (lambda *given: lstm(nn.LSTM, *given), lstm_arrays),
    "simplernn": (simple_rnn, simple_arrays),
}


def recurrent(kind):
    make, arrays = CELLS[kind]

    def translate(at, **changes):
        x = at.one()
        layer = at.changed(make(at.options, at.trained()), **changes)
        return at.add(layer, x, takes=arrays(layer, n_in(at, x)))

    return translate


def graves_bidirectional(at):
    """Adds both directions, whose outputs are summed."""
    x = at.one()
    layer = lstm(nn.GravesLSTM, at.options, at.trained())
    return both_ways(at, x, layer, lstm_arrays, "add", n_in(at, x))


def bidirectional(at):
    x, mode = at.one(), at.options.word("mode", "concat")
    at.options.need(mode in MODES, "mode", mode)
    at.unused("nin", "nout")
    kind, forward = object_of(at.options.take("fwd"), "a layer", "layer")
    _, backward = object_of(at.options.take("bwd"), "a layer", "layer")
    if kind not in CELLS:
        raise UnsupportedError(f"Bidirectional of {kind} is not supported")
    at.options.need(forward.values == backward.values, "bwd", "another layer")
    make, arrays = CELLS[kind]
    inner = at.inside(forward)
    layer = make(inner.options, inner.trained())
    width = n_in(inner, x)
    inner.options.finish()
    return both_ways(inner, x, layer, arrays, MODES[mode], width)


def both_ways(at, x, layer, arrays, mode, width):
    both = nn.Bidirectional(layer=layer, mode=mode)
    takes = [*arrays(layer, width, "forward_"), *arrays(layer, width, "backward_")]
    return at.add(both, x, takes=takes)


RECURRENT = {kind: recurrent(kind) for kind in CELLS} | {
    "bidirectional": bidirectional,
    "gravesbidirectionallstm": graves_bidirectional,
}
