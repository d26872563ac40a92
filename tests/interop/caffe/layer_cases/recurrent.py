"""Recurrent layers, computed step by step. Our gates are in the order i, f, g, o."""

import numpy as np

from tests.interop.caffe.layer_cases.case import case
from tests.interop.caffe.layer_cases.neuron import sigmoid

RECURRENT = "recurrent_param { num_output: 3 weight_filler { type: 'xavier' } }"


def lstm(p, x, cont, static=None):
    n, steps, _ = x.shape
    h = c = np.zeros((n, 3))
    w = p["y/W"]
    y = []
    for t in range(steps):
        seen = x[:, t] if static is None else np.concatenate([x[:, t], static], 1)
        on = cont[:, t, None] > 0
        gates = seen @ w + np.where(on, h, 0) @ p["y/RW"] + p["y/b"]
        i, f, g, o = np.split(gates, 4, 1)
        c = np.where(on, sigmoid(f) * c, 0) + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        y.append(h)
    return np.stack(y, 1)


def rnn(p, x, cont):
    n, steps, _ = x.shape
    h, y = np.zeros((n, 3)), []
    for t in range(steps):
        before = np.where(cont[:, t, None] > 0, h, 0)
        h = np.tanh(x[:, t] @ p["y/W"] + before @ p["y/RW"] + p["y/b"])
        y.append(np.tanh(h @ p["y/output/W"] + p["y/output/b"]))
    return np.stack(y, 1)


def lstm_unit(p, before, gates, cont):
    i, f, o, g = np.split(gates, 4, 2)
    c = cont[:, :, None] * sigmoid(f) * before + sigmoid(i) * np.tanh(g)
    return c, sigmoid(o) * np.tanh(c)


CASES = [
    case("type: 'LSTM' " + RECURRENT, (4, 2), (4,), expected=lstm, whole={1: 2}),
    case("type: 'LSTM' " + RECURRENT, (4, 2), (4,), (5,), expected=lstm, whole={1: 2}),
    case("type: 'RNN' " + RECURRENT, (4, 2), (4,), expected=rnn, whole={1: 2}),
    case(
        "type: 'LSTMUnit'",
        (1, 3),
        (1, 12),
        (1,),
        expected=lstm_unit,
        tops=2,
        whole={2: 2},
    ),
]
