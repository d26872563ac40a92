"""Layers and their weights for one node of an ONNX graph."""

import numpy as np

from sparkdl.interop.axis_layers import softmax_layers
from sparkdl.interop.constant_operands import LARGEST, bound_numbers
from sparkdl.interop.onnx.choice_translation import CHOICE_RULES
from sparkdl.interop.onnx.einsum_translation import einsum
from sparkdl.interop.onnx.forward.windows import padding
from sparkdl.interop.onnx.laid_shapes import FLOATS, place_of
from sparkdl.interop.onnx.line_translation import of_lines
from sparkdl.interop.onnx.number_translation import NUMBER_RULES
from sparkdl.interop.onnx.operand_translation import (
    OPERAND_RULES,
    lower_bound,
    upper_bound,
)
from sparkdl.interop.onnx.plain_nodes import array_of, beside_batch
from sparkdl.interop.onnx.recurrent_translation import RECURRENT_RULES
from sparkdl.interop.onnx.resampling_translation import RESAMPLING_RULES
from sparkdl.interop.onnx.selection_translation import SELECTION_RULES
from sparkdl.interop.onnx.shape_translation import SHAPE_RULES, pool_all
from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.core.channels import channel_axis


def activation(**options):
    """Returns the rule of an activation; options map sparkdl's names to (ONNX's name, default)."""
    kind = options.pop("type")

    def translate(node):
        node.shape()
        given = {our: node.attributes.get(*their) for our, their in options.items()}
        return [Step(layer=nn.Activation({"type": kind, **given}))]

    return translate


def clip(node):
    node.shape()
    low = lower_bound(node.constant(1)) if node.has(1) else -LARGEST
    high = upper_bound(node.constant(2)) if node.has(2) else LARGEST
    node.need(low <= high, f"bounds {low} and {high}")
    return [Step(layer=nn.Activation({"type": "clip", "low": low, "high": high}))]


def hard_sigmoid(node):
    node.shape()
    node.only(beta=0.5)
    return [Step(layer=hard(node.attributes.get("alpha", 0.2)))]


def hard(slope):
    return nn.Activation({"type": "hard_sigmoid", "slope": slope})


def gelu(node):
    node.shape()
    ways = {"none": False, "tanh": True}
    approximate = ways[node.attributes.get("approximate", "none")]
    return [Step(layer=nn.Activation({"type": "gelu", "approximate": approximate}))]


def prelu(node):
    alpha = per_channel(node, node.constant(1), node.shape())
    shared = node.constant(1).size == 1
    return [Step(layer=nn.PRelu(shared=shared), weights={"alpha": alpha[:1] if shared else alpha})]


def softmax(node):
    shape, axis = node.shape(), node.axis(node.attributes.get("axis", -1))
    kind = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[node.op]
    last = len(shape) - 1
    if axis == last:
        return [Step(layer=layer) for layer in softmax_layers(kind, shape)]
    order = [*(i for i in range(len(shape)) if i not in (axis, last)), last, axis]
    turn, back = nn.Permute(order=tuple(order)), nn.Permute(order=tuple(np.argsort(order).tolist()))
    layers = [turn, *softmax_layers(kind, tuple(shape[i] for i in order)), back]
    return [Step(layer=layer) for layer in layers]


def identity(node):
    """Returns no step: the output is the input itself."""
    node.any_shape()
    node.need(not (node.op == "Dropout" and any(node.outputs[1:])), "the mask as an output")
    node.need(not (node.op == "Dropout" and node.has(2)), "training_mode as an input")
    return []


def gemm(node):
    node.only(alpha=1.0, beta=1.0, transA=0)
    W = node.constant(1)
    node.need(W.ndim == 2, f"B of shape {W.shape}")
    W = W.T if node.attributes.get("transB", 0) else W
    weights = {"W": W}
    if node.has(2):
        weights["b"] = per_channel(node, node.constant(2), (W.shape[1],))
    return [Step(layer=nn.Dense(units=W.shape[1], bias="b" in weights), weights=weights)]


def conv(node):
    weights, options = convolution(node)
    kind = {2: nn.Conv2D, 3: nn.Conv3D}[image_axes(node)]
    return [Step(layer=kind(filters=len(weights["W"]), **options), weights=weights)]


def conv_transpose(node):
    weights, options = convolution(node)
    node.need("output_shape" not in node.attributes, "output_shape")
    kind = {2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}[image_axes(node)]
    more = tuple(node.attributes.get("output_padding", [0] * image_axes(node)))
    filters = weights["W"].shape[1] * options["groups"]
    layer = kind(filters=filters, output_padding=more, **options)
    return [Step(layer=layer, weights=weights)]


def convolution(node):
    """Returns the weights of a convolution, and the options that all kinds of convolution share."""
    W, axes = node.constant(1), image_axes(node)
    node.need(W.ndim == axes + 2, f"W of shape {W.shape}")
    node.only(kernel_shape=list(W.shape[2:]))
    weights = {"W": W} | ({"b": node.constant(2)} if node.has(2) else {})
    options = {"kernel_size": W.shape[2:], "groups": node.attributes.get("group", 1)}
    return weights, options | {"bias": "b" in weights} | windows(node, axes, W.shape[2:])


def lrn(node):
    node.need(len(node.shape()) == 3, f"an example of shape {node.shape()}")
    given = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    alpha, beta, bias = (node.attributes.get(*pair) for pair in given.items())
    return [Step(layer=nn.LRN(size=node.attributes["size"], alpha=alpha, beta=beta, k=bias))]


def max_pool(node):
    node.only(ceil_mode=0)
    node.need(not any(node.outputs[1:]), "the places as an output")
    kind = {2: nn.MaxPool2D, 3: nn.MaxPool3D}[image_axes(node)]
    return [Step(layer=kind(size=node.attributes["kernel_shape"], **windows(node, kind.axes)))]


def average_pool(node):
    axes = image_axes(node)
    node.only(ceil_mode=0, dilations=[1] * axes)
    kind = {2: nn.AvgPool2D, 3: nn.AvgPool3D}[axes]
    counts = bool(node.attributes.get("count_include_pad", 0))
    options = {"size": node.attributes["kernel_shape"], "count_padding": counts}
    return [Step(layer=kind(**options, **windows(node, axes)))]


def global_pool(node):
    image_axes(node)
    kind = {"GlobalAveragePool": "avg", "GlobalMaxPool": "max"}[node.op]
    return pool_all(kind, node.shape())


def batch_normalization(node):
    node.only(training_mode=0)
    node.need(len(node.outputs) == 1, "training, with statistics as outputs,")
    node.need(len(node.shape()) != 2, f"an example of shape {node.shape()}")
    names = enumerate(("gamma", "beta", "mean", "variance"), 1)
    weights = {name: node.constant(i) for i, name in names}
    options = {
        "epsilon": node.attributes.get("epsilon", 1e-5),
        "momentum": node.attributes.get("momentum", 0.9),
    }
    return [Step(layer=nn.BatchNorm(**options), weights=weights)]


def concat(node):
    """Joins computed inputs, and constants that are the same for each example."""
    computed = [i for i in range(len(node.inputs)) if node.is_computed(i)]
    shape = node.any_shape(computed[0])
    place, axis = place_of(shape), node.axis(node.attributes["axis"], computed[0])
    alike = all(place_of(node.any_shape(i)) == place for i in computed)
    node.need(alike, "joining tensors whose batch is along different axes")
    constants = [i for i in range(len(node.inputs)) if i not in computed]
    steps = [constant_step(node, i, shape, computed[0]) for i in constants]
    found = {i: k - len(constants) for k, i in enumerate(constants)}
    sources = tuple(found.get(i, i) for i in range(len(node.inputs)))
    return [*steps, Step(layer=nn.Merge(axis=axis), sources=sources, place=place)]


def constant_step(node, index, shape, beside):
    """Returns the Step of a constant for each example; floats are trained, as class tokens are."""
    name = node.inputs[index]
    of_floats = array_of(node, name).dtype.kind == "f"
    node.need(of_floats == (place_of(shape).kind == FLOATS), "floats beside integers")
    values = beside_batch(node, name, shape)
    if values.ndim == len(shape) + 1:
        node.need((values == values[:1]).all(), "a constant that varies with the example")
        values = values[0]
    node.need(values.ndim == len(shape), f"a constant of shape {values.shape}")
    values = bound_numbers(values) if of_floats else values
    layer = nn.Learned(shape=values.shape)
    layer = layer if of_floats else nn.Frozen(layer=layer)
    return Step(layer=layer, weights={"W": values}, sources=(beside,))


def per_channel(node, values, shape):
    """Returns `values` (C,); UnsupportedError unless they broadcast over the channels."""
    count = shape[channel_axis(shape)]
    behind = len(shape) - 1 - channel_axis(shape)
    core = tuple(values.shape[max(values.ndim - behind - 1, 0) :])
    fits = values.ndim <= len(shape) + 1 and (
        values.size == 1 or (values.size == count and core == (count, *[1] * behind))
    )
    node.need(fits, f"a constant of shape {values.shape} with an example of {shape}")
    return np.broadcast_to(values.reshape(-1), (count,))


def image_axes(node):
    """Returns 2 for images and 3 for volumes."""
    node.need(len(node.shape()) in (3, 4), f"an example of shape {node.shape()}")
    return len(node.shape()) - 1


def windows(node, axes, size=None):
    """Returns the options of windows, except their size.

    Parameters
    ----------
    size : tuple of int, optional
        Of the kernel. None: the attribute of the node.
    """
    ones = [1] * axes
    strides = node.attributes.get("strides", ones)
    dilations = node.attributes.get("dilations", ones)
    kernel = node.attributes["kernel_shape"] if size is None else size
    return {
        "stride": tuple(strides),
        "padding": padding_of(node, kernel, strides, dilations),
        "dilation": tuple(dilations),
    }


def padding_of(node, kernel, strides, dilations):
    """Returns (before, after) of each axis; "same" padding gives ceil(n / stride) windows."""
    auto, pads = node.attributes.get("auto_pad", "NOTSET"), node.attributes.get("pads")
    if auto not in ("NOTSET", "VALID"):
        node.need(not any(pads or ()), f"auto_pad={auto} with pads")
        plain = set(dilations) == {1} and node.op != "ConvTranspose"
        node.need(auto in ("SAME_UPPER", "SAME_LOWER") and plain, f"auto_pad={auto}")
    return tuple(padding(node.shape()[1:], kernel, strides, pads, auto))


RULES = (
    NUMBER_RULES
    | CHOICE_RULES
    | RECURRENT_RULES
    | OPERAND_RULES
    | SELECTION_RULES
    | RESAMPLING_RULES
    | SHAPE_RULES
    | {
        "AveragePool": of_lines(average_pool),
        "BatchNormalization": of_lines(batch_normalization),
        "Clip": clip,
        "Concat": concat,
        "Conv": of_lines(conv),
        "ConvTranspose": of_lines(conv_transpose),
        "Dropout": identity,
        "Einsum": einsum,
        "Elu": activation(type="elu", alpha=("alpha", 1.0)),
        "Gelu": gelu,
        "Gemm": gemm,
        "GlobalAveragePool": of_lines(global_pool),
        "GlobalMaxPool": of_lines(global_pool),
        "HardSigmoid": hard_sigmoid,
        "HardSwish": activation(type="hard_swish"),
        "Identity": identity,
        "LRN": lrn,
        "LeakyRelu": activation(type="leaky_relu", alpha=("alpha", 0.01)),
        "LogSoftmax": softmax,
        "MaxPool": of_lines(max_pool),
        "Mish": activation(type="mish"),
        "PRelu": prelu,
        "Relu": activation(type="relu"),
        "Sigmoid": activation(type="sigmoid"),
        "Softmax": softmax,
        "Softplus": activation(type="softplus"),
        "Softsign": activation(type="softsign"),
        "Tanh": activation(type="tanh"),
    }
)
