"""LSTM, GRU and RNN, step by step."""

from functools import partial

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward import activations

FUNCTIONS = {  # {name: (function, number of its parameters among alpha and beta)}
    "Affine": (lambda x, *, alpha=1.0, beta=0.0: alpha * x + beta, 2),
    "Elu": (activations.elu, 1),
    "HardSigmoid": (activations.hard_sigmoid, 2),
    "LeakyRelu": (activations.leaky_relu, 1),
    "Relu": (activations.relu, 0),
    "ScaledTanh": (lambda x, *, alpha=1.0, beta=1.0: alpha * np.tanh(beta * x), 2),
    "Sigmoid": (activations.sigmoid, 0),
    "Softplus": (activations.softplus, 0),
    "Softsign": (activations.softsign, 0),
    "Tanh": (np.tanh, 0),
    "ThresholdedRelu": (activations.thresholded_relu, 1),
}


def recurrent(step, gates, states, defaults):
    """Returns the rule of a recurrent operation.

    Parameters
    ----------
    step : function of (Cell, x of a step (N, gates H), states) -> states
    gates, states : int
    defaults : names of the functions of one direction
    """

    def compute(
        x,
        W,
        R,
        B=None,
        lengths=None,
        *rest,
        activation_alpha=None,
        activation_beta=None,
        activations=None,
        clip=None,
        direction="forward",
        hidden_size=None,
        layout=0,
        **options,
    ):
        begun = (*rest[:states], *[None] * states)[:states]
        peepholes = rest[states] if len(rest) > states else None
        if layout:
            x, begun = np.swapaxes(x, 0, 1), [s if s is None else s.swapaxes(0, 1) for s in begun]
        names = activations or defaults * len(W)
        functions = functions_of(names, activation_alpha, activation_beta)
        lengths = np.full(x.shape[1], len(x)) if lengths is None else lengths
        found = []
        for way, (w, r) in enumerate(zip(W, R, strict=True)):
            count, units = len(defaults), r.shape[1]
            cell = Cell(
                R=r,
                bias=np.zeros(2 * gates * units, x.dtype) if B is None else B[way],
                peepholes=None if peepholes is None else peepholes[way],
                functions=functions[way * count : (way + 1) * count],
                clip=clip,
                options=options,
            )
            zeros = np.zeros((x.shape[1], units), x.dtype)
            first = [zeros if state is None else state[way] for state in begun]
            backwards = direction == "reverse" or way == 1
            found.append(cell.run(step, x, w, first, lengths, backwards))
        y = np.stack([each[0] for each in found], 1)
        last = [np.stack([each[1][i] for each in found]) for i in range(states)]
        if layout:
            y, last = y.transpose(2, 0, 1, 3), [np.swapaxes(state, 0, 1) for state in last]
        return y, *last

    return compute


def functions_of(names, alphas, betas):
    """Returns the gates' functions; each takes its alpha and beta from the lists in order."""
    alphas, betas, found = list(alphas or ()), list(betas or ()), []
    for name in names:
        name = name.decode() if isinstance(name, bytes) else name
        if name not in FUNCTIONS:
            raise UnsupportedError(f"the gate function {name} is not supported")
        function, count = FUNCTIONS[name]
        options = {"alpha": alphas.pop(0)} if count > 0 and alphas else {}
        options |= {"beta": betas.pop(0)} if count > 1 and betas else {}
        found.append(partial(function, **options))
    return found


class Cell:
    """Weights, functions and options of one direction."""

    def __init__(self, R, bias, peepholes, functions, clip, options):
        self.R, self.functions, self.options = R, functions, options
        self.of_x, self.of_h = np.split(bias, 2)
        self.peepholes, self.clip = peepholes, clip

    def run(self, step, x, W, states, lengths, backwards):
        """Returns (y (T, N, H), last states); steps past an example's length change nothing."""
        y = np.zeros((*x.shape[:2], states[0].shape[1]), x.dtype)
        projected = (x @ W.T).astype(x.dtype) + self.of_x
        for t in range(len(x))[:: -1 if backwards else 1]:
            runs = (t < lengths)[:, None]
            new = step(self, projected[t], *states)
            states = [np.where(runs, to, old) for to, old in zip(new, states, strict=True)]
            y[t] = np.where(runs, new[0], 0)
        return y, states

    def call(self, place, x):
        x = x if self.clip is None else np.clip(x, -self.clip, self.clip)
        return self.functions[place](x)


def rnn_step(cell, x, h):
    return [cell.call(0, x + h @ cell.R.T + cell.of_h)]


def gru_step(cell, x, h):
    xz, xr, xh = np.split(x, 3, 1)
    Rz, Rr, Rh = np.split(cell.R, 3)
    bz, br, bh = np.split(cell.of_h, 3)
    z, r = cell.call(0, xz + h @ Rz.T + bz), cell.call(0, xr + h @ Rr.T + br)
    before = cell.options.get("linear_before_reset", 0)
    inner = r * (h @ Rh.T + bh) if before else (r * h) @ Rh.T + bh
    return [(1 - z) * cell.call(1, xh + inner) + z * h]


def lstm_step(cell, x, h, c):
    i, o, f, g = np.split(x + h @ cell.R.T + cell.of_h, 4, 1)
    pi, po, pf = np.zeros((3, 1)) if cell.peepholes is None else np.split(cell.peepholes, 3)
    i = cell.call(0, i + (pi * c).astype(c.dtype))
    f = 1 - i if cell.options.get("input_forget") else cell.call(0, f + (pf * c).astype(c.dtype))
    c = f * c + i * cell.call(1, g)
    o = cell.call(0, o + (po * c).astype(c.dtype))
    return [o * cell.functions[2](c), c]  # the clip is for gates only, as in onnxruntime


RECURRENCE = {
    "GRU": recurrent(gru_step, 3, 1, ["Sigmoid", "Tanh"]),
    "LSTM": recurrent(lstm_step, 4, 2, ["Sigmoid", "Tanh", "Tanh"]),
    "RNN": recurrent(rnn_step, 1, 1, ["Tanh"]),
}
