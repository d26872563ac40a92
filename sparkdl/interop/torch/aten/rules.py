"""Layers for aten operations on rows and images; a rule returns its result's Place."""

from math import prod

import numpy as np

from sparkdl.interop.constant_operands import LARGEST, line
from sparkdl.interop.torch.aten.attention_rules import ATTENTION_RULES
from sparkdl.interop.torch.aten.image_rules import IMAGE_RULES
from sparkdl.interop.torch.aten.learned_numbers import place_of_each
from sparkdl.interop.torch.aten.mask_rules import MASK_RULES
from sparkdl.interop.torch.aten.operand_rules import OPERAND_RULES
from sparkdl.interop.torch.aten.reduction_rules import REDUCTION_RULES, reshape_to
from sparkdl.interop.torch.aten.sequence_rules import (
    SEQUENCE_RULES,
    LastStates,
    in_time_order,
    last_state,
)
from sparkdl.interop.torch.aten.trained_arrays import STATISTICS, is_frozen
from sparkdl.nn import layers as nn

LEAST_STEP = float(np.finfo(np.float32).eps)
LINEAR = 17  # from here on softplus(x) is x in float32


def linear(node):
    W = node.tensor("weight")
    layer, x = nn.Dense(units=len(W), bias=node["bias"] is not None), node.place()
    arrays = {"weight": W, "bias": node.tensor("bias")}
    if len(x.shape) < 3:
        return node.add(layer, x, **arrays)
    steps = node.add(nn.Reshape(shape=(prod(x.shape[:-1]), x.shape[-1])), x)
    return reshape_to(node, node.add(layer, steps, **arrays))


def conv(node):
    W, bias = node.tensor("weight"), node.tensor("bias")
    axes = W.ndim - 2
    padding = node["padding"]
    node.need(padding != "same" or set(per_axis(node["stride"], axes)) == {1}, "such padding")
    words = {"valid": 0, "same": "same"}
    kind = (nn.Conv1D, nn.Conv2D, nn.Conv3D)[axes - 1]
    layer = kind(
        filters=len(W),
        kernel_size=sized(W.shape[2:]),
        stride=sized(per_axis(node["stride"], axes)),
        padding=words[padding] if isinstance(padding, str) else sized(per_axis(padding, axes)),
        dilation=sized(per_axis(node["dilation"], axes)),
        groups=node["groups"],
        bias=bias is not None,
    )
    return in_time_order(node, layer, weight=W, bias=bias)


def conv_transpose(node):
    W, bias = node.tensor("weight"), node.tensor("bias")
    layer = nn.Conv2DTranspose(
        filters=W.shape[1] * node["groups"],
        kernel_size=tuple(W.shape[2:]),
        stride=per_axis(node["stride"], 2),
        padding=per_axis(node["padding"], 2),
        output_padding=per_axis(node["output_padding"], 2),
        dilation=per_axis(node["dilation"], 2),
        groups=node["groups"],
        bias=bias is not None,
    )
    return node.add(layer, node.place(), weight=W, bias=bias)


def per_axis(values, axes):
    """Returns one entry per axis of a list that may have a single entry for all."""
    values = values if isinstance(values, list | tuple) else [values]
    return tuple(values) * (axes if len(values) == 1 else 1)


def sized(values):
    """Returns a single entry as a number, several as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def batch_norm(node):
    """Adds a BatchNorm, and a layer after it for factors that are frozen while it is not.

    Either are its statistics, where the module keeps it in evaluation, or factors without gradient.
    """
    node.need(node["momentum"] is not None, "a momentum of None")
    factors = {name: node.tensor(name) for name in ("weight", "bias")}
    statistics = {name: node.tensor(name) for name in STATISTICS}
    given = [*factors.values(), *statistics.values()]
    node.need(all(one is not None for one in given), "statistics or factors of None")
    options = {"epsilon": node["eps"], "momentum": 1 - node["momentum"], "variance": "unbiased"}
    if not is_frozen(factors) and node["training"]:
        return in_time_order(node, nn.BatchNorm(**options), **factors, **statistics)
    bare = nn.BatchNorm(scale=False, shift=False, **options)
    bare = bare if node["training"] else nn.Frozen(layer=bare)
    return node.add(nn.Affine(axis=0), in_time_order(node, bare, **statistics), **factors)


def layer_norm(node):
    rank = len(node.place().shape)
    axes = tuple(range(rank - len(node["normalized_shape"]), rank))
    arrays = {name: node.tensor(name) for name in ("weight", "bias")}
    flags = {"scale": arrays["weight"] is not None, "shift": arrays["bias"] is not None}
    return node.add(nn.LayerNorm(axes=axes, epsilon=node["eps"], **flags), node.place(), **arrays)


def pool(kind, **names):
    """Returns the rule of pooling over windows; `names` map sparkdl's options to torch's."""

    def translate(node):
        axes = kind.axes
        node.need(node["divisor_override"] is None, "divisor_override")
        size = per_axis(node["kernel_size"], axes)
        layer = kind(
            size=sized(size),
            stride=sized(per_axis(node["stride"], axes) if node["stride"] else size),
            padding=sized(per_axis(node["padding"], axes)),
            rounding="ceil" if node["ceil_mode"] else "floor",
            **{ours: node[theirs] for ours, theirs in names.items()},
        )
        dilation = node["dilation"] or [1]
        node.need(set(per_axis(dilation, axes)) == {1}, f"dilation {dilation}")
        return in_time_order(node, layer)

    return translate


def adaptive_pool(node):
    """Averages whole images, or windows of equal size."""
    sizes, given = tuple(node["output_size"]), node.place().shape[1:]
    if set(sizes) == {1}:
        pooled = in_time_order(node, nn.GlobalPool(kind="avg"))
        return node.add(nn.Reshape(shape=node.shape), pooled)
    if sizes == given:
        return node.place()
    alike = len(given) == 2 and not any(n % size for n, size in zip(given, sizes, strict=True))
    node.need(alike, f"adaptive pooling of {given} to {sizes}")
    window = tuple(n // size for n, size in zip(given, sizes, strict=True))
    return node.add(nn.AvgPool2D(size=window, stride=window), node.place())


def adaptive_max_pool(node):
    """Takes the largest number of whole images or sequences; the places are not available."""
    x = node.place()
    node.need(set(node["output_size"]) == {1}, f"adaptive pooling to {node['output_size']}")
    pooled = in_time_order(node, nn.GlobalPool(kind="max"))
    return (node.add(nn.Reshape(shape=(x.shape[0], *[1] * len(x.shape[1:]))), pooled),)


def rms_norm(node):
    """Divides by the root of the mean square of the last axis."""
    x, weight = node.place(), node.tensor("weight")
    axis = len(x.shape) - 1
    node.need(len(node["normalized_shape"]) == 1, f"a norm over {node['normalized_shape']}")
    square = node.add(nn.Activation({"type": "power", "power": 2.0}), x)
    mean = node.add(nn.Reduce(operation="mean", axis=axis), square)
    column = node.add(nn.Reshape(shape=(*x.shape[:-1], 1)), mean)
    epsilon = LEAST_STEP if node["eps"] is None else node["eps"]
    root = nn.Activation({"type": "power", "power": -0.5, "shift": float(epsilon)})
    y = node.add(nn.Broadcasting(operation="product"), x, node.add(root, column))
    return y if weight is None else node.add(nn.Affine(axis=axis, shift=False), y, weight=weight)


def glu(node):
    """Multiplies the first half of an axis by the sigmoid of the second."""
    x, axis = node.place(), node.axis(node["dim"])
    half = x.shape[axis] // 2
    one = node.add(nn.Subset(start=0, stop=half, axis=axis), x)
    two = node.add(nn.Subset(start=half, stop=2 * half, axis=axis), x)
    return node.add(
        nn.ElementWise(operation="product"), one, node.add(nn.Activation("sigmoid"), two)
    )


def celu(node):
    alpha = float(node["alpha"])
    node.need(alpha > 0, f"alpha={alpha}")
    elu = node.add(nn.Activation("elu"), node.add(line(scale=1 / alpha), node.place()))
    return node.add(line(scale=alpha), elu)


def squeeze(node):
    states = node["self"]
    if not isinstance(states, LastStates):
        return reshape(node)
    node.need(len(states) == 1 and node["dim"] in (0, [0]), "the states of several layers")
    return last_state(node, 0)


def reshape(node):
    x = node.place("self" if node["self"] is not None else "input")
    node.need(prod(x.shape) == prod(node.shape), f"a reshape of {x.shape} to {node.shape}")
    return reshape_to(node, x)


def permute(node):
    order = [node.axis(axis) for axis in node["dims"][1:]]
    node.need(node["dims"][0] == 0, "another place of the batch")
    return node.add(nn.Permute(order=order), node.place())


def transpose(node):
    order = list(range(len(node.place().shape)))
    one, other = node.axis(node["dim0"]), node.axis(node["dim1"])
    order[one], order[other] = order[other], order[one]
    return node.add(nn.Permute(order=order), node.place())


def cat(node):
    places = [place_of_each(node, one) for one in node["tensors"]]
    rank = len(places[0].shape) + 1
    axis = node["dim"] + rank if node["dim"] < 0 else node["dim"]
    node.need(axis > 0, "joining batches")
    return node.add(nn.Merge(axis=axis - 1), *places)


def same(node):
    return node.place()


def dropout(node):
    drops = node["p"] and node["train"]
    return node.add(nn.Dropout(rate=node["p"]), node.place()) if drops else node.place()


def feature_dropout(node):
    """Drops whole channels; a row's channels are its numbers."""
    if not node["p"] or not node["train"] or len(node.place().shape) == 1:
        return dropout(node)
    return in_time_order(node, nn.SpatialDropout(rate=node["p"]))


def detach(node):
    return node.add(nn.StopGradient(), node.place())


def activation(kind, **names):
    """Returns the rule of an activation; `names` map sparkdl's options to torch's."""

    def translate(node):
        given = {ours: node[theirs] for ours, theirs in names.items()}
        return node.add(nn.Activation({"type": kind, **given}), node.place())

    return translate


def clamp(node):
    """Clips; an omitted limit is the largest float32."""
    low, high = (-LARGEST if node["min"] is None else node["min"]), node["max"]
    high = LARGEST if high is None else high
    return node.add(nn.Activation({"type": "clip", "low": low, "high": high}), node.place())


def power(exponent):
    """Returns the rule of a power."""
    function = {"type": "power", "power": exponent}
    return lambda node: node.add(nn.Activation(function), node.place())


def neg(node):
    return node.add(line(scale=-1.0), node.place())


def gelu(node):
    ways = {"none": False, "tanh": True}
    function = {"type": "gelu", "approximate": ways[node["approximate"]]}
    return node.add(nn.Activation(function), node.place())


def log_sigmoid(node):
    """Returns the opposite of softplus(-x)."""
    return node.add(line(scale=-1.0), node.add(nn.Activation("softplus"), neg(node)))


def softplus(node):
    """Returns log(1 + exp x), which rounds to x above torch's usual threshold."""
    node.need(node["beta"] == 1, f"beta={node['beta']}")
    node.need(node["threshold"] >= LINEAR, f"threshold={node['threshold']}")
    return node.add(nn.Activation("softplus"), node.place())


def prelu(node):
    alpha = node.tensor("weight")
    return in_time_order(node, nn.PRelu(shared=alpha.numel() == 1), weight=alpha)


RULES = (
    SEQUENCE_RULES
    | OPERAND_RULES
    | ATTENTION_RULES
    | REDUCTION_RULES
    | IMAGE_RULES
    | MASK_RULES
    | {
        "abs": activation("abs_val"),
        "adaptive_max_pool1d": adaptive_max_pool,
        "adaptive_max_pool2d": adaptive_max_pool,
        "adaptive_avg_pool1d": adaptive_pool,
        "adaptive_avg_pool2d": adaptive_pool,
        "adaptive_avg_pool3d": adaptive_pool,
        "alias": same,
        "avg_pool1d": pool(nn.AvgPool1D, count_padding="count_include_pad"),
        "avg_pool2d": pool(nn.AvgPool2D, count_padding="count_include_pad"),
        "batch_norm": batch_norm,
        "cat": cat,
        "celu": celu,
        "clamp": clamp,
        "clamp_max": clamp,
        "clamp_min": clamp,
        "clone": same,
        "contiguous": same,
        "conv1d": conv,
        "conv2d": conv,
        "conv3d": conv,
        "conv_transpose2d": conv_transpose,
        "detach": detach,
        "dropout": dropout,
        "elu": activation("elu", alpha="alpha"),
        "erf": activation("erf"),
        "exp": activation("exp"),
        "feature_dropout": feature_dropout,
        "flatten": reshape,
        "gelu": gelu,
        "glu": glu,
        "hardsigmoid": activation("hard_sigmoid"),
        "hardswish": activation("hard_swish"),
        "hardtanh": activation("clip", low="min_val", high="max_val"),
        "layer_norm": layer_norm,
        "leaky_relu": activation("leaky_relu", alpha="negative_slope"),
        "linear": linear,
        "log_sigmoid": log_sigmoid,
        "max_pool1d": pool(nn.MaxPool1D),
        "max_pool2d": pool(nn.MaxPool2D),
        "max_pool3d": pool(nn.MaxPool3D),
        "mish": activation("mish"),
        "neg": neg,
        "permute": permute,
        "pow": activation("power", power="exponent"),
        "prelu": prelu,
        "reciprocal": power(-1.0),
        "relu": activation("relu"),
        "relu6": activation("relu6"),
        "reshape": reshape,
        "rms_norm": rms_norm,
        "rsqrt": power(-0.5),
        "selu": activation("selu"),
        "sigmoid": activation("sigmoid"),
        "silu": activation("swish"),
        "softplus": softplus,
        "sqrt": power(0.5),
        "squeeze": squeeze,
        "tanh": activation("tanh"),
        "transpose": transpose,
        "unflatten": reshape,
        "unsqueeze": reshape,
        "view": reshape,
    }
)
