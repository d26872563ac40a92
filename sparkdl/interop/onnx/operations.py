"""Writers that express sparkdl's operations as ONNX nodes.

A writer is a function of an OnnxWriter and a Node that returns the name of the result, or the names
of several. Operations without a writer are decomposed into simpler ones.
"""

from functools import partial

import numpy as np
from onnx import TensorProto

from sparkdl.interop.onnx.recurrent_operations import RECURRENT_WRITERS

FARTHEST = np.iinfo(np.int64).max


def names(writer, node):
    return [writer.name(tensor) for tensor in node.inputs]


def write_alike(op, writer, node, **attributes):
    """Writes an ONNX node with the same inputs; `attributes` maps ONNX's names to sparkdl's."""
    given = {theirs: getattr(node.op, ours) for theirs, ours in attributes.items()}
    return writer.add(op, *names(writer, node), **given)


def alike(op, **attributes):
    return partial(write_alike, op, **attributes)


def compare(op):
    """Returns the writer of a comparison, whose result is 1 or 0."""

    def write(writer, node):
        return writer.add("Cast", writer.add(op, *names(writer, node)), to=TensorProto.FLOAT)

    return write


def where(writer, node):
    condition, x, y = names(writer, node)
    return writer.add("Where", writer.add("Cast", condition, to=TensorProto.BOOL), x, y)


def power(writer, node):
    exponent = writer.constant(np.float32(node.op.exponent))
    return writer.add("Pow", *names(writer, node), exponent)


def square(writer, node):
    [x] = names(writer, node)
    return writer.add("Mul", x, x)


def matmul(writer, node):
    flips = node.op.transpose_x, node.op.transpose_y
    operands = [
        swap_last_axes(writer, name, tensor.ndim) if flip else name
        for name, tensor, flip in zip(names(writer, node), node.inputs, flips, strict=True)
    ]
    return writer.add("MatMul", *operands)


def swap_last_axes(writer, name, rank):
    return writer.add("Transpose", name, perm=[*range(rank - 2), rank - 1, rank - 2])


def reduce(op):
    """Returns the writer of a reduction; before opset 18 only ReduceSum takes axes as an input."""

    def write(writer, node):
        [x], axes, kept = names(writer, node), node.op.axes, int(node.op.keepdims)
        if op == "ReduceSum":
            return writer.add(op, x, writer.integers(*axes), keepdims=kept)
        return writer.add(op, x, axes=list(axes), keepdims=kept)

    return write


def softmax(op):
    return lambda writer, node: writer.add(op, *names(writer, node), axis=-1)


def reshape(writer, node):
    value = node.inputs[0].value
    if value is not None:
        return writer.constant(value.reshape(node.outputs[0].shape))
    return writer.reshape(*names(writer, node), node.outputs[0].shape)


def broadcast_to(writer, node):
    [x] = node.inputs
    return writer.expand(writer.name(x), x.shape, node.outputs[0].shape)


def slice_axes(writer, node):
    [x] = node.inputs
    places = [
        (axis, start, stop)
        for axis, (start, stop) in enumerate(zip(node.op.starts, node.op.stops, strict=True))
        if (start, stop) != (0, x.shape[axis])
    ]
    writer.need(not any(writer.is_open(x.shape[axis]) for axis, *_ in places), "a part of a batch")
    axes, starts, stops = zip(*places, strict=True) if places else ((), (), ())
    bounds = (writer.integers(*each) for each in (starts, stops, axes))
    return writer.add("Slice", writer.name(x), *bounds)


def reverse_time(writer, node):
    writer.need(len(node.inputs) == 1, "a mask")
    bounds = (writer.integers(n) for n in (-1, -FARTHEST, 1, -1))
    return writer.add("Slice", *names(writer, node), *bounds)


def pad(writer, node):
    return writer.add("Pad", *names(writer, node), writer.integers(*node.op.before, *node.op.after))


def gather(writer, node):
    table, indices = names(writer, node)
    return writer.add("Gather", table, indices, axis=0)


def cast(writer, node):
    kinds = {"int32": TensorProto.INT32, "int64": TensorProto.INT64, "float32": TensorProto.FLOAT}
    writer.need(node.op.dtype in kinds, f"the type {node.op.dtype}")
    return writer.add("Cast", *names(writer, node), to=kinds[node.op.dtype])


def windows(op):
    """Returns the window attributes of an operation."""
    before, after = zip(*op.padding, strict=True)
    return {"strides": list(op.stride), "pads": [*before, *after], "kernel_shape": list(op.size)}


def dilated(op):
    """Returns the window attributes of an operation, with dilations."""
    return windows(op) | {"dilations": list(op.dilation)}


def conv(writer, node):
    return writer.add("Conv", *names(writer, node), group=node.op.groups, **dilated(node.op))


def conv_transpose(writer, node):
    op, given = node.op, node.inputs[0].shape[2:]
    made = [
        (n - 1) * stride - sum(padding) + dilation * (size - 1) + 1
        for n, stride, padding, dilation, size in zip(
            given, op.stride, op.padding, op.dilation, op.size, strict=True
        )
    ]
    more = [want - have for want, have in zip(op.image, made, strict=True)]
    attributes = dilated(op) | {"group": op.groups, "output_padding": more}
    return writer.add("ConvTranspose", *names(writer, node), **attributes)


def unfold(writer, node):
    """Writes a convolution whose filters each pick one position of a window of one channel."""
    op, channels = node.op, node.inputs[0].shape[1]
    count = int(np.prod(op.size))
    picks = np.eye(count, dtype=np.float32).reshape(count, 1, *op.size)
    filters = writer.constant(np.tile(picks, (channels, *[1] * (picks.ndim - 1))))
    return writer.add("Conv", *names(writer, node), filters, group=channels, **dilated(op))


def max_pool(writer, node):
    """Writes padding as wide as a window without its dilation, which onnxruntime refuses, apart."""
    op, [x], attributes = node.op, names(writer, node), dilated(node.op)
    if any(max(pads) >= size for pads, size in zip(op.padding, op.size, strict=True)):
        before, after = zip(*op.padding, strict=True)
        amounts, lowest = writer.integers(0, 0, *before, 0, 0, *after), np.float32(-np.inf)
        x = writer.add("Pad", x, amounts, writer.constant(lowest))
        attributes["pads"] = [0] * len(attributes["pads"])
    return writer.add("MaxPool", x, **attributes)


def average_pool(writer, node):
    writer.need(set(node.op.dilation) == {1}, "dilation")
    counts = int(node.op.count_padding)
    return writer.add(
        "AveragePool", *names(writer, node), count_include_pad=counts, **windows(node.op)
    )


def resize(writer, node):
    [x] = node.inputs
    whole = all(new % old == 0 for new, old in zip(node.op.space, x.shape[2:], strict=True))
    writer.need(whole and not node.op.linear, "resizing but by whole factors to nearest pixels")
    factors = [new / old for new, old in zip(node.op.space, x.shape[2:], strict=True)]
    scales = writer.constant(np.array([1, 1, *factors], np.float32))
    ways = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return writer.add("Resize", writer.name(x), "", scales, mode="nearest", **ways)


def normalize(writer, node):
    return writer.add("BatchNormalization", *names(writer, node), epsilon=node.op.epsilon)


def layer_norm(writer, node):
    """Writes LayerNormalization over the last axis, with transposes to and from the node's axis."""
    x, *weights = names(writer, node)
    order = list(range(node.inputs[0].ndim))
    order.append(order.pop(node.op.axis))
    back = [int(place) for place in np.argsort(order)]
    turned = writer.add("Transpose", x, perm=order)
    y = writer.add("LayerNormalization", turned, *weights, epsilon=node.op.epsilon)
    return [writer.add("Transpose", y, perm=back), "", ""]


def lrn(writer, node):
    op = node.op
    if op.within or op.size % 2 == 0:
        return writer.write_parts(node)
    options = {"size": op.size, "alpha": op.alpha, "beta": op.beta, "bias": op.k}
    return writer.add("LRN", *names(writer, node), **options)


def sequence_to_image(writer, node):
    turned = writer.add("Transpose", *names(writer, node), perm=[0, 2, 1])
    return writer.add("Unsqueeze", turned, writer.integers(2))


def image_to_sequence(writer, node):
    flat = writer.add("Squeeze", *names(writer, node), writer.integers(2))
    return writer.add("Transpose", flat, perm=[0, 2, 1])


def by_heads(writer, tensor, heads):
    """Returns the name of a tensor (N, T, H d) transposed to (N, H, T, d)."""
    n, steps, width = tensor.shape
    split = writer.reshape(writer.name(tensor), (n, steps, heads, width // heads))
    return writer.add("Transpose", split, perm=[0, 2, 1, 3])


def head_scores(writer, node):
    q, k, *bias = node.inputs
    keys = swap_last_axes(writer, by_heads(writer, k, node.op.heads), 4)
    scores = writer.add("MatMul", by_heads(writer, q, node.op.heads), keys)
    scores = writer.add("Mul", scores, writer.constant(np.float32(node.op.scale)))
    for each in bias:
        wide = writer.add("Unsqueeze", writer.name(each), writer.integers(1))
        scores = writer.add("Add", scores, wide)
    return writer.reshape(scores, node.outputs[0].shape)


def head_mix(writer, node):
    maps, values = node.inputs
    n, heads = values.shape[0], node.op.heads
    wide = writer.reshape(writer.name(maps), (n, heads, *maps.shape[1:]))
    wide = swap_last_axes(writer, wide, 4) if node.op.back else wide
    mixed = writer.add("MatMul", wide, by_heads(writer, values, heads))
    mixed = writer.add("Mul", mixed, writer.constant(np.float32(node.op.scale)))
    joined = writer.add("Transpose", mixed, perm=[0, 2, 1, 3])
    return writer.reshape(joined, node.outputs[0].shape)


WRITERS = RECURRENT_WRITERS | {
    "Abs": alike("Abs"),
    "Add": alike("Add"),
    "AvgPool": average_pool,
    "BroadcastTo": broadcast_to,
    "Cast": cast,
    "Concat": alike("Concat", axis="axis"),
    "Conv": conv,
    "ConvGradInput": conv_transpose,
    "Div": alike("Div"),
    "Elu": alike("Elu", alpha="alpha"),
    "Equal": compare("Equal"),
    "Erf": alike("Erf"),
    "Exp": alike("Exp"),
    "Gather": gather,
    "Greater": compare("Greater"),
    "HeadMix": head_mix,
    "HeadScores": head_scores,
    "ImageToSequence": image_to_sequence,
    "LayerNorm": layer_norm,
    "LeakyRelu": alike("LeakyRelu", alpha="alpha"),
    "Log": alike("Log"),
    "LogSoftmax": softmax("LogSoftmax"),
    "Lrn": lrn,
    "MatMul": matmul,
    "Max": reduce("ReduceMax"),
    "MaxPool": max_pool,
    "Maximum": alike("Max"),
    "Mean": reduce("ReduceMean"),
    "Minimum": alike("Min"),
    "Mul": alike("Mul"),
    "Normalize": normalize,
    "Pad": pad,
    "Power": power,
    "Relu": alike("Relu"),
    "Reshape": reshape,
    "Resize": resize,
    "ReverseTime": reverse_time,
    "SequenceToImage": sequence_to_image,
    "Sigmoid": alike("Sigmoid"),
    "Slice": slice_axes,
    "Softmax": softmax("Softmax"),
    "Softplus": alike("Softplus"),
    "Sqrt": alike("Sqrt"),
    "Square": square,
    "StopGradient": alike("Identity"),
    "Sub": alike("Sub"),
    "Sum": reduce("ReduceSum"),
    "Tanh": alike("Tanh"),
    "Transpose": alike("Transpose", perm="axes"),
    "Unfold": unfold,
    "Where": where,
}
