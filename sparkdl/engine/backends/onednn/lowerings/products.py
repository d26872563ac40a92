"""Matrix products, with bias and post-ops in one primitive."""

from ctypes import c_float

from sparkdl.engine.backends.onednn.binding.api import AFTER, BIAS, DST, SRC, SRC_1, WEIGHTS
from sparkdl.engine.backends.onednn.lowerings.elementwise import ADD, LINEAR
from sparkdl.engine.backends.onednn.lowerings.layouts import in_layout, rows_collide, spread_rows


def product(session, x, w, y, bias=None, after=(), more=None):
    """Returns (calls, kernel's name) of y = x w (+ bias, then post-ops `after`, reading `more`)."""
    pd = product_pd(session, x, w, y, bias, after)
    calls, weights = in_layout(session, w, session.query(pd, "weights"))
    arrays = {SRC: x, DST: y, **(more or {})}
    if bias is not None:
        arrays[BIAS] = bias
    arguments = {key: session.at(array) for key, array in arrays.items()} | {WEIGHTS: weights}
    return [*calls, session.bind(pd, arguments)], session.implementation(pd)


def product_pd(session, x, w, y, bias, after):
    """Returns the descriptor, which chooses the layout of a w that rarely changes."""
    attribute = session.then(*after) if after else None
    wide = None if bias is None else session.of(bias)

    def describe(weights):
        return session.describe("matmul", session.of(x), weights, wide, session.of(y), attribute)

    if not session.holds(w):
        return describe(session.of(w))
    pd = describe(session.any(w))
    as_it_lies = session.equal(session.query(pd, "weights"), session.of(w))
    return describe(session.of(spread_rows(w))) if as_it_lies and rows_collide(w) else pd


def forward(session, op, x, w, y, bias=None, after=()):
    """Returns the calls of y = x w (+ bias), transposed as `op` says."""
    wide = None if bias is None else bias.reshape(1, -1)
    return product(session, *op.operands(x, w), y, wide, after)


def head_scores(session, op, q, k, *bias_and_y):
    """Returns the calls of scale q k^T (+ bias) per head, reading all operands in place."""
    *bias, y = bias_and_y
    after, more = scale_steps(op), {}
    for wide in (b[:, None] for b in bias):
        more[AFTER * (len(after) + 1) | SRC_1] = wide
        after.append(("binary", ADD, session.of(wide)))
    keys = op.by_heads(k).swapaxes(2, 3)
    return product(session, op.by_heads(q), keys, op.by_examples(y), after=after, more=more)


def head_mix(session, op, maps, v, y):
    """Returns the calls of scale maps v, or scale maps^T v, per head."""
    return product(session, op.maps(maps), op.by_heads(v), op.by_heads(y), after=scale_steps(op))


def scale_steps(op):
    return [] if op.scale == 1 else [("eltwise", LINEAR, c_float(op.scale), c_float(0))]
