"""`RULES`: for each sparkdl layer class, a function that adds Keras layers.

Options that a rule omits are detected when the result is read again; see `check.py`.
"""

from dataclasses import replace
from functools import partial

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.layers.arithmetic import DROPOUTS
from sparkdl.interop.keras.layers.joining import OPERATIONS
from sparkdl.interop.keras.layers.reshaping import CROPPED, GROWN, PADDED
from sparkdl.interop.keras.places import channels_first, channels_last
from sparkdl.interop.keras.writing import members
from sparkdl.interop.keras.writing.recurrent import RECURRENT
from sparkdl.interop.keras.writing.weighted import (
    activated,
    add_function,
    inner_layer,
    plain_numbers,
    weighted,
)
from sparkdl.interop.keras.writing.windows import WINDOWS
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.windows.geometry import per_axis


def dense(at):
    return activated(at, "Dense", {"units": at.layer.units} | weighted(at), at.plain())


def embedding(at):
    layer = at.layer
    config = {"input_dim": layer.vocabulary_size, "output_dim": layer.units}
    options = weighted(at, kernel="embeddings")
    config |= {name: value for name, value in options.items() if "bias" not in name}
    if layer.padding_id:
        raise UnsupportedError(f"padding_id={layer.padding_id} is not supported; Keras masks id 0")
    config["mask_zero"] = layer.padding_id == 0
    if members.activation(layer.activation) != "linear":
        raise UnsupportedError(f"activation={layer.activation} is not supported")
    return at.add("Embedding", config, at.plain())


def function(at):
    return add_function(at, at.layer.function, at.one())


def dropout(kind, at):
    return at.add(kind, {"rate": at.layer.rate}, at.one())


def spatial_dropout(at):
    axes = max(len(at.in_shape) - 1, 1)
    return at.add(f"SpatialDropout{axes}D", {"rate": at.layer.rate}, at.last())


def stochastic_depth(at):
    axes = [None, *[1] * len(at.in_shape)]
    return at.add("Dropout", {"rate": at.layer.rate, "noise_shape": axes}, at.one())


def gaussian_noise(at):
    return at.add("GaussianNoise", {"stddev": at.layer.std}, at.one())


def rescaling(at):
    config = {"scale": at.layer.scale, "offset": at.layer.offset}
    return at.add("Rescaling", config, at.one())


def masking(at):
    return at.add("Masking", {"mask_value": at.layer.value}, at.plain())


def prelu(at):
    x, layer = at.last(), at.layer
    config = {"shared_axes": list(range(1, len(at.in_shape)))}
    if at.training:
        config["alpha_initializer"] = members.initializer(layer.initializer)
        config["alpha_regularizer"] = members.regularizer(layer.l1, layer.l2)
        axes = range(len(at.in_shape))
        config["alpha_constraint"] = members.constraint(layer.constraints, axes)
    return at.add("PReLU", config, x)


def batch_norm(at):
    config = {"momentum": at.layer.momentum} | over_channels(at)
    return at.add("BatchNormalization", config, at.one())


def over_channels(at):
    """Returns options of normalization by the last axis, or the first if Keras has it there too."""
    first = len(at.in_shape) > 2 and not at.one().turned
    return {"axis": 1 if first else -1} | factors(at.layer)


def factors(layer):
    return {"epsilon": layer.epsilon, "scale": layer.scale, "center": layer.shift}


def layer_norm(at):
    axes = at.layer.axes_of(at.in_shape)
    config = {"axis": [axis + 1 for axis in axes]} | factors(at.layer)
    expected = replace(at.layer, axes=axes)
    return at.add("LayerNormalization", config, at.plain(), expected=expected)


def group_norm(at):
    config = {"groups": at.layer.groups} | over_channels(at)
    return at.add("GroupNormalization", config, at.one())


def rms_norm(at):
    x = at.last()
    return at.add("RMSNormalization", {"axis": -1, "epsilon": at.layer.epsilon}, x)


def unit_norm(at):
    axes = list(range(1, 1 + len(at.in_shape)))
    return at.add("UnitNormalization", {"axis": axes}, at.one())


def element_wise(at):
    names = {ours: name for name, ours in OPERATIONS.items()}
    inputs = alike(at)
    if at.layer.operation not in names or len(inputs) < 2:
        raise UnsupportedError(f"operation={at.layer.operation!r} is not supported")
    return at.add(names[at.layer.operation], {}, *inputs, shape=at.place.out_shape)


def alike(at):
    """Returns the inputs in the same axis order."""
    if any(source.backwards for source in at.sources):
        raise UnsupportedError("steps in reverse are not supported")
    return [at.turn(source, at.sources[0].turned) for source in at.sources]


def merge(at):
    inputs = alike(at)
    axis, rank = at.layer.axis_of(at.in_shape[0]), len(at.in_shape[0])
    place = (axis - 1) % rank if inputs[0].turned else axis
    expected = replace(at.layer, axis=axis)
    shape = at.place.out_shape
    return at.add("Concatenate", {"axis": place + 1}, *inputs, expected=expected, shape=shape)


def broadcasting(at):
    """Adds an operation on images and one number per channel, which is (1, 1, C) in Keras."""
    wide, row = at.sources
    if len(wide.shape) < 3 or row.shape != wide.shape[:1] or wide.backwards:
        raise UnsupportedError(f"inputs {at.in_shape} are not supported")
    if at.layer.operation == "mask":
        raise UnsupportedError("operation='mask' is not supported")
    shape = (*[1] * (len(wide.shape) - 1), *row.shape)
    reshape = nn.Reshape(shape=shape)
    narrow = at.add("Reshape", {"target_shape": shape}, row, expected=reshape, helper="row")
    kind = {ours: name for name, ours in OPERATIONS.items()}[at.layer.operation]
    return at.add(kind, {}, at.turn(wide, True), narrow, shape=wide.shape)


def attention(at):
    """Adds attention; sparkdl's inputs are (queries, keys, values), Keras's (query, value, key)."""
    layer = at.layer
    if any(source.backwards for source in at.sources):
        raise UnsupportedError("steps in reverse are not supported")
    if at.frozen and at.training:  # Keras loses the flag of inner layers
        raise UnsupportedError("Frozen is not supported; write it with compiled=False")
    inputs = [*at.sources, *at.sources[-1:] * (3 - len(at.sources))]
    size = layer.width(inputs[0].shape) // layer.heads
    config = {"num_heads": layer.heads, "key_dim": size, "dropout": layer.dropout}
    config |= weighted(at) | {"output_shape": layer.units and [layer.units]}
    query, key, value = inputs
    given = {"use_causal_mask": True} if layer.causal else {}
    return at.add(
        "MultiHeadAttention",
        config,
        *(query, value, key),
        expected=replace(layer, head_size=size),
        shape=at.place.out_shape,
        kwargs=given,
    )


def permute(at):
    """Adds a Permute, unless it only moves channels to where Keras already has them."""
    x, rank, order = at.one(), len(at.in_shape), at.layer.order
    shape = at.place.out_shape
    if rank > 2 and x.turned and order == channels_last(rank):
        return replace(x, shape=shape, turned=False)
    if rank > 2 and not x.turned and order == channels_first(rank):
        return replace(x, shape=shape, turned=True)
    return at.add("Permute", {"dims": [axis + 1 for axis in order]}, at.plain())


def flatten(at):
    return at.add("Flatten", {}, at.plain())


def reshape(at):
    return at.add("Reshape", {"target_shape": plain_numbers(at.layer.shape)}, at.plain())


def repeat_vector(at):
    return at.add("RepeatVector", {"n": at.layer.count}, at.plain())


def border(kind, option, at):
    return at.add(kind, {option: plain_numbers(at.layer.amount)}, at.last())


def up_sampling(axes, at):
    size = at.layer.size
    config = {"size": size if axes == 1 else list(per_axis(size, axes))}
    if axes == 2:
        config["interpolation"] = at.layer.interpolation
    return at.add(f"UpSampling{axes}D", config, at.last())


class InnerLayer:
    """Context for a rule on an inner layer, which records layers instead of adding them."""

    def __init__(self, at, layer, x):
        self.layer, self.x, self.training, self.frozen = layer, x, at.training, at.frozen
        self.in_shape, self.added = x.shape, []

    def one(self):
        return self.x

    plain = last = one

    def turn(self, tensor, last):
        return tensor

    def add(self, kind, config, *sources, expected=None, helper=None):
        self.added.append((kind, config, expected or self.layer))
        return self.x


def time_distributed(at):
    x = at.plain()
    rule = RULES.get(type(at.layer.layer))
    if rule is None or len(x.shape) > 3:
        raise UnsupportedError(f"{type(at.layer.layer).__name__} inside is not supported")
    inner = InnerLayer(at, at.layer.layer, replace(x, shape=x.shape[1:]))
    rule(inner)
    [(kind, config, expected), *others] = inner.added
    if others:
        raise UnsupportedError(f"{kind} and {others[0][0]} at once are not supported")
    config = {"layer": inner_layer(at, kind, config)}
    return at.add("TimeDistributed", config, x, expected=nn.TimeDistributed(layer=expected))


RULES = {
    **WINDOWS,
    **RECURRENT,
    **{ours: partial(dropout, kind) for kind, ours in DROPOUTS.items()},
    **{ours: partial(border, f"ZeroPadding{n}D", "padding") for n, ours in PADDED.items()},
    **{ours: partial(border, f"Cropping{n}D", "cropping") for n, ours in CROPPED.items()},
    **{ours: partial(up_sampling, n) for n, ours in GROWN.items()},
    nn.Activation: function,
    nn.BatchNorm: batch_norm,
    nn.Broadcasting: broadcasting,
    nn.Dense: dense,
    nn.ElementWise: element_wise,
    nn.EmbeddingSequence: embedding,
    nn.Flatten: flatten,
    nn.GaussianNoise: gaussian_noise,
    nn.L2Normalize: unit_norm,
    nn.LayerNorm: layer_norm,
    nn.GroupNorm: group_norm,
    nn.Masking: masking,
    nn.Merge: merge,
    nn.MultiHeadAttention: attention,
    nn.PRelu: prelu,
    nn.Permute: permute,
    nn.RepeatVector: repeat_vector,
    nn.RMSNorm: rms_norm,
    nn.Rescaling: rescaling,
    nn.Reshape: reshape,
    nn.SpatialDropout: spatial_dropout,
    nn.StochasticDepth: stochastic_depth,
    nn.TimeDistributed: time_distributed,
}
