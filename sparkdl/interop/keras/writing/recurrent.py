"""Recurrent layers."""

from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.layers.recurrent import MODES
from sparkdl.interop.keras.writing import members
from sparkdl.interop.keras.writing.weighted import function_name, inner_layer, weighted
from sparkdl.nn import layers as nn


def lstm(layer):
    return {"unit_forget_bias": layer.forget_bias == 1} | gates(layer)


def gru(layer):
    return {"reset_after": layer.reset_after} | gates(layer)


def simple_rnn(layer):
    return {"activation": function_name(layer.activation)}


def gates(layer):
    return {"recurrent_activation": function_name(layer.gate_activation)}


CELLS = {
    nn.LSTM: ("LSTM", lstm),
    nn.GRU: ("GRU", gru),
    nn.SimpleRnn: ("SimpleRNN", simple_rnn),
}


def config_of(at):
    """Returns the Keras options of a recurrent layer."""
    layer = at.layer
    config = {"units": layer.units, "return_sequences": layer.return_sequences}
    config["zero_output_for_mask"] = layer.return_sequences  # as ours does
    config |= CELLS[type(layer)][1](layer) | weighted(at)
    if at.training:
        config["recurrent_initializer"] = members.initializer(layer.recurrent_initializer)
        for name in ("regularizer", "constraint"):
            config[f"recurrent_{name}"] = config[f"kernel_{name}"]
    return config


def recurrent(at):
    [x] = at.sources
    config = config_of(at) | {"go_backwards": x.backwards}
    return replace(at.add(CELLS[type(at.layer)][0], config, x), backwards=False)


def bidirectional(at):
    both, x = at.layer, at.one()
    at.layer = both.layer
    if type(both.layer) not in CELLS:
        raise UnsupportedError(f"{type(both.layer).__name__} inside is not supported")
    inner = inner_layer(at, CELLS[type(both.layer)][0], config_of(at))
    names = {ours: name for name, ours in MODES.items()}
    config = {"layer": inner, "merge_mode": names[both.mode]}
    return at.add("Bidirectional", config, x, expected=both)


def reverse_time(at):
    """Marks the steps as reversed; Keras's recurrent layers do it themselves."""
    x = at.one()
    return replace(x, backwards=True)


RECURRENT = dict.fromkeys(CELLS, recurrent) | {
    nn.Bidirectional: bidirectional,
    nn.ReverseTime: reverse_time,
}
