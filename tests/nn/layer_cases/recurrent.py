"""Recurrent layers against jax's scan over the published equations."""

import jax.numpy as jnp

from sparkdl.nn import layers
from tests.engine.cases.recurrent import gru_cell, lstm_cell, scanned, simple_cell
from tests.nn.layer_cases import core, resizing

HARD = {"type": "hard_sigmoid", "slope": 0.2}
INDICATORS = ((4, 3), (4,))
LAYERS = [
    (layers.LSTM(units=2), (4, 3)),
    (layers.LSTM(units=3, bias=False, return_sequences=False, forget_bias=0), (3, 2)),
    (layers.LSTM(units=2, gate_activation=HARD, l2=0.1), (3, 2)),
    (layers.LSTM(units=2, continuation=True), INDICATORS),
    (layers.GravesLSTM(units=2, peephole_initializer="normal"), (4, 3)),
    (layers.GravesLSTM(units=2, recurrent_initializer="xavier", continuation=True), INDICATORS),
    (layers.GRU(units=2), (4, 3)),
    (layers.GRU(units=2, reset_after=False), (4, 3)),
    (layers.GRU(units=3, bias=False, return_sequences=False, gate_activation=HARD), (3, 2)),
    (layers.GRU(units=2, continuation=True), ((4, 3), (4, 1))),
    (layers.SimpleRnn(units=3), (4, 2)),
    (layers.SimpleRnn(units=3, activation="relu", return_sequences=False), (4, 2)),
    (layers.Bidirectional(layer=layers.LSTM(units=2)), (4, 3)),
    (layers.Bidirectional(layer=layers.GRU(units=2), mode="add"), (4, 3)),
    (layers.Bidirectional(layer=layers.SimpleRnn(units=2), mode="mul"), (3, 2)),
    (
        layers.Bidirectional(
            layer=layers.GravesLSTM(units=2, return_sequences=False), mode="average"
        ),
        (3, 2),
    ),
    (layers.TimeDistributed(layer=layers.Dense(units=3, activation="tanh")), (4, 2)),
    (layers.TimeDistributed(layer=layers.BatchNorm()), (3, 2)),
    (layers.TimeDistributed(layer=layers.GlobalPool()), (3, 2, 4, 4)),
    (layers.Masking(value=0.5), (4, 3)),
    (layers.LastTimeStep(), (4, 3)),
]
CELLS = {"LSTM": lstm_cell, "GravesLSTM": lstm_cell, "GRU": gru_cell, "SimpleRnn": simple_cell}


def recurrent(layer, params, x, buffers, training, backwards=False):
    x, keep = x if layer.continuation else (x, None)
    keep = None if keep is None else (keep.reshape(x.shape[:2]) > 0) * 1.0
    names = {"P": "peepholes"} if "P" in params else {}
    options = {theirs: params[ours] for ours, theirs in names.items()}
    options |= {"reset_after": layer.reset_after} if layer.type_name == "GRU" else {}
    if layer.type_name == "SimpleRnn":
        options |= {"activation": layer.activation.type_name}
    else:
        options |= {"slope": getattr(layer.gate_activation, "slope", None)}
    b = params.get("b", jnp.zeros(layer.outputs()))
    states = [jnp.zeros((len(x), layer.units))] * len(layer.carried)
    weights = params["W"], params["RW"], b
    cell = CELLS[layer.type_name]
    y, last, *_ = scanned(cell, x, *weights, *states, keep=keep, backwards=backwards, **options)
    return y if layer.return_sequences else last


def bidirectional(layer, params, x, buffers, training):
    a, b = (
        recurrent(
            layer.layer,
            {n.split("_")[1]: p for n, p in params.items() if n.startswith(direction)},
            x,
            buffers,
            training,
            backwards=direction == "backward",
        )
        for direction in ("forward", "backward")
    )
    return {
        "concat": jnp.concatenate([a, b], -1),
        "add": a + b,
        "mul": a * b,
        "average": (a + b) / 2,
    }[layer.mode]


def time_distributed(layer, params, x, buffers, training):
    rows = x.reshape(-1, *x.shape[2:])
    inside = core.THEIRS | resizing.THEIRS
    y = inside[layer.layer.type_name](layer.layer, params, rows, buffers, training)
    return y.reshape(*x.shape[:2], *y.shape[1:])


THEIRS = dict.fromkeys(CELLS, recurrent) | {
    "Bidirectional": bidirectional,
    "TimeDistributed": time_distributed,
    "Masking": lambda layer, params, x, buffers, training: jnp.where(
        (x == layer.value).all(-1, keepdims=True), 0, x
    ),
    "LastTimeStep": lambda layer, params, x, buffers, training: x[:, -1],
}
