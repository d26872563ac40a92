"""Multi-head attention."""

from functools import partial

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.layers.common import biased
from sparkdl.interop.keras.members import constraint, initializer, regularizer
from sparkdl.interop.keras.places import Take, flat
from sparkdl.nn import layers as nn

PARTS = {"query": "q", "key": "k", "value": "v", "output": "o"}
HEADS_APART = None  # no axis fits all kernels: in the output's, the heads come first


def attention(at):
    """Adds attention; Keras's inputs are (query, value, key), sparkdl's (queries, keys, values)."""
    options = at.options
    query, value, key = roles(at)
    options.need(len(query.shape) == 2, "input shape", query.shape)
    if query.masked or value.masked or key.masked:  # Keras takes it away from what else reads them
        raise UnsupportedError("a mask is not supported")
    size, l1_l2 = options.size("key_dim"), regularizer(options.take("kernel_regularizer"))
    given = options.take("value_dim")
    options.need(given in (None, size), "value_dim", given)
    options.need(options.take("attention_axes") in (None, [1], (1,)), "attention_axes", "others")
    options.only(use_gate=False, sliding_window=None, flash_attention=None)
    layer = nn.MultiHeadAttention(
        heads=options.size("num_heads"),
        head_size=size,
        units=width(options),
        causal=bool(at.call.options.get("use_causal_mask", False)),
        dropout=options.number("dropout", 0.0),
        initializer=initializer(options.take("kernel_initializer", "glorot_uniform")),
        l1=l1_l2[0],
        l2=l1_l2[1],
        constraints=constraint(options.take("kernel_constraint"), HEADS_APART),
        **biased(options, HEADS_APART),
    )
    return at.add(layer, query, key, value, takes=takes(layer))


def roles(at):
    """Returns (query, value, key) of a call."""
    names = ("query", "value", "key")
    free = len(at.inputs) - len(at.call.roles)
    if free > len(names):
        raise UnsupportedError("a mask is not supported")
    given = dict(zip(names, at.inputs[:free])) | dict(zip(at.call.roles, at.inputs[free:]))
    unknown = given.keys() - set(names)
    if unknown or "query" not in given or "value" not in given:
        raise UnsupportedError(f"inputs {sorted(given)} are not supported")
    for name, value in at.call.options.items():
        known = name in ("use_causal_mask", "training") or value in (None, False)
        at.options.need(known, name, value)
    return given["query"], given["value"], given.get("key", given["value"])


def width(options):
    """Returns the output width; None: that of the query."""
    shape = options.take("output_shape")
    shape = shape[0] if isinstance(shape, list | tuple) and len(shape) == 1 else shape
    options.need(shape is None or type(shape) is int, "output_shape", shape)
    return shape


def takes(layer):
    """Returns the Takes, which convert (F, H, d) to (F, H d), and (H, d, U) to (H d, U)."""
    found = []
    for name, part in PARTS.items():
        path = f"{name}_dense"
        merge, shape = (flat_in, split_in) if part != "o" else (flat_out, split_out)
        shape = partial(shape, layer.heads)
        found.append(Take(ours=f"W{part}", change=merge, path=path, shape=shape))
        if layer.bias:
            shape = shape if part != "o" else None
            found.append(Take(ours=f"b{part}", change=flat, path=path, shape=shape))
    return found


def split_in(heads, shape):
    return (*shape[:-1], heads, shape[-1] // heads)


def split_out(heads, shape):
    return heads, shape[0] // heads, shape[1]


def flat_in(kernel):
    return kernel.reshape(len(kernel), -1)


def flat_out(kernel):
    return kernel.reshape(-1, kernel.shape[-1])


ATTENTION = {"MultiHeadAttention": attention}
