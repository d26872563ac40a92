"""Rows for recurrent operations, against jax's scan of the published equations."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from sparkdl.engine import ops
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.engine.ops.recurrent.gru import GruOp
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from sparkdl.engine.ops.recurrent.simple_rnn import SimpleRnnOp
from tests.engine.cases.case import Case
from tests.engine.support import uniform

N, T, F, H = 2, 3, 3, 2
KEEP = np.array([[1, 0, 1], [0, 1, 1]], np.float32)
MASK = np.array([[1, 1, 0], [0, 1, 1]], np.float32)
INDICATORS = {
    "": {},
    " backwards": {"backwards": True},
    " keep": {"keep": KEEP},
    " mask": {"mask": MASK},
    " keep mask backwards": {"keep": KEEP, "mask": MASK, "backwards": True},
}


def weights(seed, gates, biases, states):
    shapes = (N, T, F), (F, gates * H), (H, gates * H), (biases * H,), *[(N, H)] * states
    return tuple(uniform(seed + i, *shape, low=-1, high=1) for i, shape in enumerate(shapes))


def gate(slope):
    return jax.nn.sigmoid if slope is None else (lambda z: jnp.clip(slope * z + 0.5, 0, 1))


def lstm_cell(z, wh, b, states, peepholes=None, slope=None):
    (h, c), squash = states, gate(slope)
    p = jnp.zeros((3, 1)) if peepholes is None else peepholes.reshape(3, -1)
    i, f, g, o = jnp.split(z + b + h @ wh, 4, axis=1)
    new = squash(f + p[1] * c) * c + squash(i + p[0] * c) * jnp.tanh(g)
    return squash(o + p[2] * new) * jnp.tanh(new), new


def gru_cell(z, wh, b, states, reset_after=False, slope=None):
    (h,), squash, n = states, gate(slope), states[0].shape[1]
    zu, zr, zo = jnp.split(z + b[: 3 * n], 3, axis=1)
    u, r = squash(zu + h @ wh[:, :n]), squash(zr + h @ wh[:, n : 2 * n])
    wo = wh[:, 2 * n :]
    inner = r * (h @ wo + b[3 * n :]) if reset_after else (r * h) @ wo
    return (u * h + (1 - u) * jnp.tanh(zo + inner),)


def simple_cell(z, wh, b, states, activation="tanh"):
    return (getattr(jnp, activation, jax.nn.relu)(z + b + states[0] @ wh),)


def scanned(cell, x, wx, wh, b, *states, keep=None, mask=None, backwards=False, **options):
    """Scans `cell` over the steps; returns y and the last states."""
    ones = jnp.ones((*x.shape[:2], 1))
    keep = ones if keep is None else jnp.asarray(keep)[..., None]
    mask = ones if mask is None else jnp.asarray(mask)[..., None]

    def step(states, now):
        x, keep, mask = now
        before = tuple(keep * state for state in states)
        new = cell(x @ wx, wh, b, before, **options)
        states = tuple(jnp.where(mask > 0, a, b) for a, b in zip(new, before))
        return states, new[0] * mask

    steps = tuple(jnp.swapaxes(a, 0, 1) for a in (x, keep, mask))
    last, y = lax.scan(step, states, steps, reverse=backwards)
    return jnp.swapaxes(y, 0, 1), *last


def flat_ops(outputs):
    return ops.concat([ops.reshape(y, (-1,)) for y in outputs])


def flat_jax(outputs):
    return jnp.concatenate([y.reshape(-1) for y in outputs])


def forward_row(function, cell, arrays, options):
    """Returns a row that concatenates all outputs."""
    with_peepholes = function is ops.lstm and len(arrays) > 6
    names = ("peepholes",) if with_peepholes else ()
    count = len(arrays) - len(names)

    def call(*given):
        return flat_ops(function(*given[:count], **dict(zip(names, given[count:])), **options))

    def like(*given):
        named = dict(zip(names, given[count:]))
        return flat_jax(scanned(cell, *given[:count], **named, **options))

    return Case(call, arrays, like)


def grad_row(op, cell, arrays, options):
    """Returns a row of the gradient operation, given the gradients of y and the last states."""
    gys = uniform(70, N, T, H), *(uniform(71 + i, N, H) for i in range(op.states))
    count = len(gys)
    indicators = [options[name] for name in ("keep", "mask") if name in options]

    def call(*given):
        inputs = *given[count:], *(i.astype(given[0].dtype) for i in indicators)
        return flat_ops(RecurrentGradOp(op)(*given[:count], *inputs, op(*inputs)[-1]))

    def like(*given):
        pull = jax.vjp(lambda *a: scanned(cell, *a, **options), *given[count:])[1]
        return flat_jax(pull(given[:count]))

    return Case(call, (*gys, *arrays), like)


KINDS = {
    "Lstm": (ops.lstm, lstm_cell, weights(40, 4, 4, 2), {}),
    "Lstm peepholes": (
        ops.lstm,
        lstm_cell,
        (*weights(41, 4, 4, 2), uniform(49, 3 * H, low=-1, high=1)),
        {},
    ),
    "Lstm hard": (ops.lstm, lstm_cell, weights(42, 4, 4, 2), {"slope": 0.2}),
    "Gru": (ops.gru, gru_cell, weights(43, 3, 3, 1), {}),
    "Gru reset after": (ops.gru, gru_cell, weights(44, 3, 4, 1), {"reset_after": True}),
    "Gru hard": (ops.gru, gru_cell, weights(45, 3, 3, 1), {"slope": 0.2}),
    "SimpleRnn": (ops.simple_rnn, simple_cell, weights(46, 1, 1, 1), {}),
    "SimpleRnn relu": (
        ops.simple_rnn,
        simple_cell,
        weights(47, 1, 1, 1),
        {"activation": "relu"},
    ),
}
GRADS = {
    "lstm": (LstmOp(), "Lstm", {}),
    "lstm keep mask": (LstmOp(keep=True, mask=True), "Lstm", {"keep": KEEP, "mask": MASK}),
    "gru": (GruOp(), "Gru", {}),
    "simple rnn backwards": (SimpleRnnOp(backwards=True), "SimpleRnn", {"backwards": True}),
}
CASES = {
    f"{kind}{name}": forward_row(function, cell, arrays, options | indicators)
    for kind, (function, cell, arrays, options) in KINDS.items()
    for name, indicators in INDICATORS.items()
} | {
    f"RecurrentGrad {name}": grad_row(op, *KINDS[kind][1:3], options)
    for name, (op, kind, options) in GRADS.items()
}
