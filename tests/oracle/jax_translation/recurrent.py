"""Recurrent layers: the published cells, scanned over the time steps."""

import jax
import jax.numpy as jnp

from tests.oracle.jax_translation.activations import activate
from tests.oracle.jax_translation.seen import translates

JOINS = {
    "concat": lambda a, b: jnp.concatenate([a, b], -1),
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "average": lambda a, b: (a + b) / 2,
}


def lstm(layer, p, x, state):
    """Gates in the order i, f, g, o; peepholes of i and f see the old cell, of o the new one."""
    h, c = state
    z = x @ p["W"] + h @ p["RW"] + p.get("b", 0)
    i, f, g, o = jnp.split(z, 4, -1)
    peep = jnp.split(p["P"], 3) if "P" in p else (0, 0, 0)
    i, f = (activate(layer.gate_activation, v + w * c) for v, w in zip((i, f), peep))
    c = f * c + i * jnp.tanh(g)
    o = activate(layer.gate_activation, o + peep[2] * c)
    return o * jnp.tanh(c), c


def gru(layer, p, x, state):
    """h <- u h + (1 - u) o, with the gates u and r and the candidate o."""
    (h,), n = state, layer.units
    xu, xr, xo = jnp.split(x @ p["W"], 3, -1)
    hu, hr, ho = jnp.split(p["RW"], 3, -1)
    b = p.get("b", jnp.zeros(4 * n))
    u = activate(layer.gate_activation, xu + h @ hu + b[:n])
    r = activate(layer.gate_activation, xr + h @ hr + b[n : 2 * n])
    if layer.reset_after:
        o = jnp.tanh(xo + b[2 * n : 3 * n] + r * (h @ ho + b[3 * n :]))
    else:
        o = jnp.tanh(xo + b[2 * n : 3 * n] + (r * h) @ ho)
    return (u * h + (1 - u) * o,)


def simple_rnn(layer, p, x, state):
    (h,) = state
    return (activate(layer.activation, x @ p["W"] + h @ p["RW"] + p.get("b", 0)),)


CELLS = {"LSTM": (lstm, 2), "GravesLSTM": (lstm, 2), "GRU": (gru, 1), "SimpleRnn": (simple_rnn, 1)}


def scanned(layer, params, x, mask, keep=None):
    """Returns (outputs (N, T, units), final state (N, units)).

    At padding the state is kept and the output is 0; the state is reset to zeros unless `keep` (N,
    T) is positive.
    """
    cell, count = CELLS[layer.type_name]
    n, steps, _ = x.shape
    there = jnp.ones((n, steps), bool) if mask is None else mask != 0
    going_on = jnp.ones((n, steps), bool) if keep is None else keep.reshape(n, steps) > 0

    def step(state, seen):
        x, there, going_on = seen
        old = tuple(jnp.where(going_on[:, None], s, 0) for s in state)
        new = cell(layer, params, x, old)
        state = tuple(jnp.where(there[:, None], a, b) for a, b in zip(new, state, strict=True))
        return state, jnp.where(there[:, None], new[0], 0)

    start = (jnp.zeros((n, layer.units)),) * count
    last, y = jax.lax.scan(step, start, (x.swapaxes(0, 1), there.T, going_on.T))
    return y.swapaxes(0, 1), last[0]


@translates("LSTM", "GravesLSTM", "GRU", "SimpleRnn")
def recurrent(layer, seen):
    keep = seen.xs[1] if layer.continuation else None
    y, last = scanned(layer, seen.params, seen.x, seen.mask, keep)
    seen.out_mask = seen.mask if layer.return_sequences else None
    return y if layer.return_sequences else last


@translates("Bidirectional")
def bidirectional(layer, seen):
    """The backward half starts with the padding, which leaves its state at zero."""
    inner, results = layer.layer, []
    for direction in ("forward", "backward"):
        mark = f"{direction}_"
        own = {n.removeprefix(mark): p for n, p in seen.params.items() if n.startswith(mark)}
        turned = (lambda v: v) if direction == "forward" else (lambda v: jnp.flip(v, 1))
        mask = None if seen.mask is None else turned(seen.mask)
        y, last = scanned(inner, own, turned(seen.x), mask)
        results.append(turned(y) if inner.return_sequences else last)
    seen.out_mask = seen.mask if inner.return_sequences else None
    return JOINS[layer.mode](*results)


@translates("LastTimeStep")
def last_time_step(layer, seen):
    seen.out_mask = None
    if seen.mask is None:
        return seen.x[:, -1]
    steps = jnp.arange(1, seen.x.shape[1] + 1)
    last = (steps * (seen.mask != 0)).max(1)
    rows = jnp.take_along_axis(seen.x, jnp.maximum(last - 1, 0)[:, None, None], 1)[:, 0]
    return jnp.where(last[:, None] > 0, rows, 0)


@translates("ReverseTime")
def reverse_time(layer, seen):
    """Reverses the real steps and leaves the padding at the end."""
    if seen.mask is None:
        return jnp.flip(seen.x, 1)
    steps = jnp.arange(seen.x.shape[1])
    length = (seen.mask != 0).sum(1, keepdims=True)
    at = jnp.where(steps < length, length - 1 - steps, steps)
    return jnp.take_along_axis(seen.x, at[..., None], 1)


@translates("DuplicateToTime")
def duplicate_to_time(layer, seen):
    row, sequence = seen.xs
    seen.out_mask = seen.masks[1]
    return jnp.repeat(row[:, None], sequence.shape[1], 1)


@translates("Masking")
def masking(layer, seen):
    there = (seen.x != layer.value).any(-1) * 1.0
    seen.out_mask = there if seen.mask is None else there * seen.mask
    return jnp.where(seen.out_mask[..., None] != 0, seen.x, 0)
