"""Gated recurrent units, in both common forms."""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.recurrent.base import RecurrentOp, apply_with_masks
from sparkdl.engine.ops.recurrent.slopes import gate_slope, tanh_slope


@register
@dataclass(frozen=True)
class GruOp(RecurrentOp):
    """A GRU: h' = u h + (1 - u) o with u = s(x wx_u + b_u + h wh_u), and r likewise.

    o = tanh(x wx_o + b_o + (r h) wh_o); with `reset_after`, the reset gate follows the product:
    o = tanh(x wx_o + b_o + r (h wh_o + b_4)). The blocks are u, r, o and, in b, a fourth one b_4.

    s is the sigmoid, or slope z + 0.5 clipped to [0, 1] if there is a slope.

    Parameters
    ----------
    reset_after : bool
        cuDNN's and PyTorch's form, and Keras' default; else that of the paper.
    slope : float, optional
        The slope of the gates' hard sigmoid.

    Shapes
    ------
    See RecurrentOp; b (3 H,), or (4 H,) with `reset_after`; the state is h.

    References
    ----------
    Cho et al., Learning phrase representations using RNN encoder-decoder (2014). The blocks have
    the order of Keras and oneDNN; PyTorch has r before u.
    """

    gates, saved_count = 3, 4

    reset_after: bool = False
    slope: float | None = None

    @property
    def biases(self):
        return 4 if self.reset_after else 3

    @property
    def two_gradients(self):
        return self.reset_after

    def step(self, m, z, states, inputs):
        (h,), units, slope = states, inputs.wh.shape[0], self.slope
        two, three = 2 * units, 3 * units
        if self.reset_after:
            r_h = m.product(h, inputs.wh)
            gates = m.gate(m.part(z, 0, two) + m.part(r_h, 0, two), slope)
            u, r = m.part(gates, 0, units), m.part(gates, units, two)
            inner = m.part(r_h, two, three) + m.part(inputs.b, three, 4 * units)
            o = m.tanh(m.part(z, two, three) + r * inner)
        else:
            gates = m.part(z, 0, two) + m.product(h, m.part(inputs.wh, 0, two))
            gates = m.gate(gates, slope)
            u, r = m.part(gates, 0, units), m.part(gates, units, two)
            inner = r * h
            o = m.tanh(m.part(z, two, three) + m.product(inner, m.part(inputs.wh, two, three)))
        return (u * h + (1.0 - u) * o,), (u, r, o, inner)

    def back(self, product, gstates, saved, before, inputs):
        (gh,), (u, r, o, inner), (h,) = gstates, saved, before
        two = 2 * inputs.wh.shape[0]
        gu, go = gh * (h - o) * gate_slope(u, self.slope), gh * (1 - u) * tanh_slope(o)
        if self.reset_after:
            gr = go * inner * gate_slope(r, self.slope)
            products = np.concatenate([gu, gr, go * r], axis=1)
            gbefore = gh * u + product(products, inputs.wh.T)
            return np.concatenate([gu, gr, go], axis=1), products, (gbefore,)
        ginner = product(go, inputs.wh[:, two:].T)
        gr = ginner * h * gate_slope(r, self.slope)
        gz = np.concatenate([gu, gr, go], axis=1)
        gbefore = gh * u + ginner * r + product(gz[:, :two], inputs.wh[:, :two].T)
        return gz, gz, (gbefore,)

    def weight_gradient(self, product, gr, saved, before):
        if self.reset_after:
            return product(before[0].T, gr)
        two = gr.shape[1] // 3 * 2
        parts = product(before[0].T, gr[:, :two]), product(saved[3].T, gr[:, two:])
        return np.concatenate(parts, axis=1)

    def bias_gradient(self, gz, gr):
        gb = gz.sum(axis=0)
        if not self.reset_after:
            return gb
        return np.concatenate([gb, gr[:, gr.shape[1] // 3 * 2 :].sum(axis=0)])


def gru(x, wx, wh, b, h, *, keep=None, mask=None, backwards=False, reset_after=False, slope=None):
    """Returns (y (N, T, H), last h) of sequences x (N, T, F); see GruOp and RecurrentOp."""
    op = GruOp(backwards=backwards, reset_after=reset_after, slope=slope)
    return apply_with_masks(op, x, wx, wh, b, h, keep=keep, mask=mask)
