"""Long short-term memory."""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.recurrent.base import RecurrentOp, apply_with_masks
from sparkdl.engine.ops.recurrent.slopes import gate_slope, tanh_slope


@register
@dataclass(frozen=True)
class LstmOp(RecurrentOp):
    """With z = x wx + b + h wh in the blocks i, f, g, o (p: peepholes, where there are any):

    i = s(z_i + p_i c), f = s(z_f + p_f c), c' = f c + i tanh(z_g), o = s(z_o + p_o c'), h' = o
    tanh(c'); s is the sigmoid, or slope z + 0.5 clipped to [0, 1] if there is a slope.

    Parameters
    ----------
    peepholes : bool
        Adds an input p (3 H,) after the first states, in the blocks i, f, o.
    slope : float, optional
        The slope of the gates' hard sigmoid.

    Shapes
    ------
    See RecurrentOp; the states are h and c.

    References
    ----------
    Hochreiter and Schmidhuber, Long short-term memory (1997); Gers, Schmidhuber, Cummins, Learning
    to forget (2000); peepholes: Gers, Schraudolph, Schmidhuber, Learning precise timing (2002). The
    blocks have the order of Keras and PyTorch.
    """

    gates, biases, states, saved_count = 4, 4, 2, 5

    peepholes: bool = False
    slope: float | None = None

    def step(self, m, z, states, inputs):
        (h, c), units, slope = states, inputs.wh.shape[0], self.slope
        z = z + m.product(h, inputs.wh)
        i, f, g, o = (m.part(z, k * units, (k + 1) * units) for k in range(4))
        if self.peepholes:
            p = [m.part(inputs.peepholes, k * units, (k + 1) * units) for k in range(3)]
            i, f = i + c * p[0], f + c * p[1]
        i, f, g = m.gate(i, slope), m.gate(f, slope), m.tanh(g)
        new = f * c + i * g
        o = m.gate(o + new * p[2] if self.peepholes else o, slope)
        return (o * m.tanh(new), new), (i, f, g, o, new)

    def back(self, product, gstates, saved, before, inputs):
        (gh, gc), (i, f, g, o, new), (_, c) = gstates, saved, before
        squashed = np.tanh(new)
        go = gh * squashed * gate_slope(o, self.slope)
        gc = gc + gh * o * tanh_slope(squashed)
        if self.peepholes:
            p = inputs.peepholes.reshape(3, -1)
            gc = gc + go * p[2]
        gi, gf = gc * g * gate_slope(i, self.slope), gc * c * gate_slope(f, self.slope)
        gz = np.concatenate([gi, gf, gc * i * tanh_slope(g), go], axis=1)
        gbefore = gc * f
        if self.peepholes:
            gbefore = gbefore + gi * p[0] + gf * p[1]
        return gz, gz, (product(gz, inputs.wh.T), gbefore)

    def peephole_gradient(self, gz, saved, before):
        gi, gf, _, go = np.split(gz, 4, axis=1)
        parts = (gi, before[1]), (gf, before[1]), (go, saved[4])
        return np.concatenate([np.einsum("nh,nh->h", g, c) for g, c in parts])


def lstm(x, wx, wh, b, h, c, *, peepholes=None, keep=None, mask=None, backwards=False, slope=None):
    """Returns (y (N, T, H), last h, last c) of x (N, T, F); see LstmOp and RecurrentOp."""
    op = LstmOp(backwards=backwards, peepholes=peepholes is not None, slope=slope)
    inputs = (wx, wh, b, h, c) if peepholes is None else (wx, wh, b, h, c, peepholes)
    return apply_with_masks(op, x, *inputs, keep=keep, mask=mask)
