"""Recurrent layers.

Caffe's sequences are (T, N, F), with indicators (T, N) that say where a sequence continues. In
sparkdl they are (N, T, F) and (N, T), so the blob of one example has the shape (T, F).
"""

from math import prod

from sparkdl.errors import UnsupportedError
from sparkdl.interop.caffe.layers.parameters import filler, multipliers, rates_of, spec_of
from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.names import name_of
from sparkdl.nn import (
    LSTM,
    Activation,
    Broadcasting,
    Dense,
    DuplicateToTime,
    ElementWise,
    Merge,
    SimpleRnn,
    Subset,
)


def lstm(layer, net):
    """Adds an LSTM; Caffe's parameters: W_xc, b_c, [W_xc_static], W_hc; gates i, f, o, g."""
    new_layer = LSTM(forget_bias=0.0, **recurrent_options(layer, net))
    add_recurrent(layer, net, new_layer)


def rnn(layer, net):
    """Adds an RNN; Caffe's parameters are W_xh, b_h, [W_xh_static], W_hh, W_ho, b_o."""
    new_layer, name = SimpleRnn(**recurrent_options(layer, net)), name_of(layer)
    add_recurrent(layer, net, new_layer)
    first, options = len(own_specs(layer)), layer.recurrent_param
    specs = [spec_of(layer, first), spec_of(layer, first + 1)]
    rates = rates_of(net, *specs)
    out = Dense(units=options.num_output, activation="tanh", **rates, **fillers(options))
    net.add(LayerParameter(), out, [layer.top[0]], layer.top[0], f"{name}/output", specs=specs)


def add_recurrent(layer, net, new_layer):
    """Adds a recurrent layer with its own parameters."""
    bottoms = [with_static(layer, net), layer.bottom[1]]
    net.add(layer, new_layer, bottoms, specs=own_specs(layer))


def own_specs(layer):
    """Returns the ParamSpecs of the recurrence; those of an RNN's outputs follow them."""
    return [spec_of(layer, place) for place in range(3 + (len(layer.bottom) > 2))]


def recurrent_options(layer, net):
    """Returns the options of the recurrent layer."""
    if not net.batch_axis(layer.bottom[0]):
        raise UnsupportedError(
            f"{layer.bottom[0]!r} must be sequences (steps, batch, ...): from the data with "
            "unchanged axes, or from a Reshape that puts one step in front"
        )
    options = layer.recurrent_param
    if options.expose_hidden:
        raise UnsupportedError("expose_hidden must be false; states are carried by tbptt")
    weight, bias, *inner = own_specs(layer)
    if any(multipliers(net, spec) != multipliers(net, weight) for spec in inner):
        raise UnsupportedError(
            "all weights of a recurrent layer must have the same lr_mult and decay_mult"
        )
    return {
        "units": options.num_output,
        "continuation": True,
        "recurrent_initializer": filler(options.weight_filler),
        **fillers(options),
        **rates_of(net, weight, bias),
    }


def fillers(options):
    return {
        "initializer": filler(options.weight_filler),
        "bias_initializer": filler(options.bias_filler),
    }


def with_static(layer, net):
    """Returns the blob of sequences with flat steps, followed by the static input, if any."""
    x, shape = layer.bottom[0], net.shape(layer.bottom[0])
    if len(shape) != 2:
        x = net.reshape_blob(layer, x, (shape[0], prod(shape[1:])), "rows")
    if len(layer.bottom) < 3:
        return x
    static = layer.bottom[2]
    if len(net.shape(static)) > 1:
        static = net.reshape_blob(layer, static, (prod(net.shape(static)),), "static")
    each = step(layer, net, "each", DuplicateToTime(), static, x)
    return step(layer, net, "both", Merge(axis=1), x, each)


def lstm_unit(layer, net):
    """Adds one LSTM step from gates i, f, o, g: c = cont f c_before + i g, h = o tanh(c)."""
    before, gates, cont = layer.bottom
    size = net.shape(before)[-1]
    axis = len(net.shape(gates)) - 1
    i, f, o, g = (
        step(
            layer,
            net,
            gate,
            Activation("tanh" if gate == "g" else "sigmoid"),
            step(
                layer,
                net,
                f"{gate}/part",
                Subset(start=place * size, stop=(place + 1) * size, axis=axis),
                gates,
            ),
        )
        for place, gate in enumerate("ifog")
    )
    previous = step(layer, net, "kept", Broadcasting(), before, cont)
    product = ElementWise(operation="product")
    old, new = step(layer, net, "old", product, f, previous), step(layer, net, "new", product, i, g)
    net.add(layer, ElementWise(operation="add"), [old, new], layer.top[0])
    out = step(layer, net, "tanh", Activation("tanh"), layer.top[0])
    net.add(layer, product, [o, out], layer.top[1], f"{name_of(layer)}/h")


def step(layer, net, what, new_layer, *bottoms):
    """Adds an internal vertex of a layer; returns its blob."""
    name = f"{name_of(layer)}/{what}"
    net.add(layer, new_layer, list(bottoms), name, name)
    return name


RECURRENT = {"LSTM": lstm, "RNN": rnn, "LSTMUnit": lstm_unit}
