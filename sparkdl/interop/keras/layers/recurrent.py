"""Recurrent layers, with Keras's kernels and order of gates."""

from dataclasses import replace
from functools import partial

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.layers.common import same_options, weighted
from sparkdl.interop.keras.members import activation, initializer
from sparkdl.interop.keras.options import Options, object_of
from sparkdl.interop.keras.places import Take
from sparkdl.nn import layers as nn

MODES = {"concat": "concat", "sum": "add", "mul": "mul", "ave": "average"}
TWO_BIASES = None  # (2, 3 units) has no axes that correspond to sparkdl's single vector


def common(options, bias_axes=(0,)):
    """Returns the options common to recurrent layers; for `bias_axes` see `weighted`."""
    same_options(options, "kernel_regularizer", "recurrent_regularizer")
    same_options(options, "kernel_constraint", "recurrent_constraint")
    options.only(recurrent_dropout=0.0, return_state=False, stateful=False)
    options.only(time_major=False, activity_regularizer=None)
    for name in ("unroll", "implementation", "use_cudnn", "zero_output_for_mask"):
        options.take(name)
    first = options.take("recurrent_initializer", "orthogonal")
    return {
        "units": options.size("units"),
        "return_sequences": options.flag("return_sequences"),
        "recurrent_initializer": initializer(first),
    } | weighted(options, bias_axes=bias_axes)


def gates(options, version):
    function = activation(options.take("activation", "tanh"), version)
    options.need(function == "tanh", "activation", function)
    return {"gate_activation": activation(options.take("recurrent_activation", "sigmoid"), version)}


def lstm(options, version):
    forget = 1.0 if options.flag("unit_forget_bias", True) else 0.0
    given = common(options) | gates(options, version)
    return nn.LSTM(forget_bias=forget, **given), kernels


def gru(options, version):
    after = options.flag("reset_after", version >= 2)
    given = common(options, TWO_BIASES if after else (0,)) | gates(options, version)
    return nn.GRU(reset_after=after, **given), gru_kernels


def simple_rnn(options, version):
    function = activation(options.take("activation", "tanh"), version)
    return nn.SimpleRnn(activation=function, **common(options)), kernels


def kernels(layer, path="cell", prefix=""):
    names = ["W", "RW", *(["b"] if layer.bias else [])]
    return [Take(ours=prefix + name, path=path) for name in names]


def gru_kernels(layer, path="cell", prefix=""):
    """Returns the Takes; with reset_after Keras has separate biases for input and state."""
    found = kernels(layer, path, prefix)
    if layer.bias and layer.reset_after:
        joined = partial(join_biases, layer.units)
        kept = partial(join_states, layer.units)
        shape = partial(two_biases, layer.units)
        found[-1] = Take(
            ours=f"{prefix}b", change=joined, path=path, state_change=kept, shape=shape
        )
    return found


def join_biases(units, bias):
    """Converts (2, 3 units) to (4 units,): gate biases are summed, the last ones concatenated."""
    gates = bias[0, : 2 * units] + bias[1, : 2 * units]
    return np.concatenate([gates, bias[0, 2 * units :], bias[1, 2 * units :]])


def two_biases(units, shape):
    return 2, 3 * units


def join_states(units, state):
    """Converts the optimizer state of two biases likewise; that of the gates is equal in both."""
    return np.concatenate([state[0], state[1, 2 * units :]])


CELLS = {"LSTM": lstm, "GRU": gru, "SimpleRNN": simple_rnn, "CuDNNLSTM": None, "CuDNNGRU": None}


def drop_inputs(at, x, options):
    """Adds dropout of the inputs before a layer, with the same features at all steps."""
    rate = options.number("dropout", 0.0)
    return at.add(nn.SpatialDropout(rate=rate), x, helper=True) if rate else x


def repeats(at, x, layer, options):
    """Returns whether a layer repeats its last output at masked steps in Keras; ours gives 0."""
    zero = options.take("zero_output_for_mask")
    repeating = x.masked and layer.return_sequences and not zero
    if repeating:
        at.translation.unlike.append(at.layer.name)
    return repeating


def recurrent(kind, at):
    x = at.one()
    layer, takes = CELLS[kind](at.options, at.version)
    backwards = at.options.flag("go_backwards")
    if backwards and x.masked and layer.return_sequences:
        raise UnsupportedError("go_backwards of a sequence with a mask is not supported")
    x = drop_inputs(at, x, at.options)
    filled = not repeats(at, x, layer, at.options)
    if backwards:
        x = at.add(nn.ReverseTime(), x, helper=True)
    return at.add(layer, x, takes=takes(layer), filled=filled)


def bidirectional(at):
    mode = at.options.take("merge_mode", "concat")
    at.options.need(mode in MODES, "merge_mode", mode)
    kind, options = object_of(at.options.take("layer"))
    if CELLS.get(kind) is None:
        raise UnsupportedError(f"Bidirectional of {kind} is not supported")
    layer, takes = CELLS[kind](options, at.version)
    options.only(go_backwards=False)
    trainable = options.take("trainable") is not False
    at.look_inside(trainable)
    check_other(at, kind, layer, trainable)
    x = drop_inputs(at, at.one(), options)
    filled = not repeats(at, x, layer, options)
    options.finish()
    both = nn.Bidirectional(layer=layer, mode=MODES[mode])
    found = [
        take
        for direction in ("forward", "backward")
        for take in takes(layer, f"{direction}_layer/cell", f"{direction}_")
    ]
    return at.add(both, x, takes=found, filled=filled)


def check_other(at, kind, layer, trainable):
    """Raises UnsupportedError for a backward layer other than the reversed forward layer."""
    given = at.options.take("backward_layer")
    if given is None:
        return
    other, options = object_of(given)
    same = other == kind and Options.flag(options, "go_backwards")
    same = same and (options.take("trainable") is not False) == trainable
    if not same or replace(CELLS[kind](options, at.version)[0], name=None) != layer:
        raise UnsupportedError("a backward_layer of its own is not supported")


RECURRENT = {kind: partial(recurrent, kind) for kind, rule in CELLS.items() if rule} | {
    "Bidirectional": bidirectional
}
