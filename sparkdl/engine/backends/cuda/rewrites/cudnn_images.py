"""Images in the form in which cuDNN is fast: channels last, at least eight of them."""

from math import prod

from sparkdl.engine.fusion import BiasActivationOp, fuse
from sparkdl.engine.graph import Graph, Tensor
from sparkdl.engine.ops.normalization import BatchNormGradOp, BatchNormOp
from sparkdl.engine.ops.shape import CastOp, PadOp, cast, copy, pad, slice
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvGradWeightOp, ConvOp

LEAST = 8  # 16-bit channels: with three, a plan asks for 200 MB to pad
IMAGES = {ConvOp: 0, ConvGradWeightOp: 1}  # which of its inputs is an image
READERS = BatchNormOp, BatchNormGradOp, ConvOp, ConvGradInputOp, ConvGradWeightOp


def pad_channels(graph):
    """Pads 16-bit convolutions of few channels with channels of zeros."""
    padded = {}

    def eight(x):
        if x not in padded:
            after = (0, LEAST - x.shape[1], *(0,) * (x.ndim - 2))
            padded[x] = pad(x, (0,) * x.ndim, after)
        return padded[x]

    def rule(node, inputs, uses):
        image = IMAGES.get(type(node.op))
        if image is None or not has_few_channels(node.inputs[image], node.op):
            return None
        if image == 0:
            return node.op(*map(eight, inputs))
        gw = node.op(inputs[0], eight(inputs[1]))
        return slice(gw, (0,) * gw.ndim, node.outputs[0].shape)

    return fuse(graph, (rule,))


def narrow_inputs(graph, bindings):
    """Returns the graph with image inputs in the type and channels that it computes with.

    This removes casts from float32 and padding with zero channels if they are the only readers;
    feeds do both during the transfer.
    """
    uses, new = graph.uses(), {}
    sources = {t: n for n, t in graph.inputs.items() if n not in bindings}

    def before(tensor, kind):
        """Returns the input of the tensor's node if that is of a kind and the only reader.

        Otherwise returns the tensor.
        """
        node = tensor.node
        matches = node is not None and isinstance(node.op, kind) and uses[node.inputs[0]] == 1
        return node.inputs[0] if matches else tensor

    for node in graph.nodes:
        if isinstance(node.op, PadOp) and behind_channels(node.op):
            [read], padded = node.inputs, node.outputs[0]
            source = before(before(padded, PadOp), CastOp)
            if (
                source in sources
                and source is not padded
                and source.spec.dtype in source_dtypes(read)
            ):
                new[padded] = Tensor(padded.spec, name=source.name), sources[source]
    both = {**graph.inputs, **{f"{name}, padded": t for t, name in new.values()}}
    swap = {t: (instead,) for t, (instead, _) in new.items()}
    narrowed = fuse(Graph(both, graph.outputs), (lambda node, *_: swap.get(node.outputs[0]),))
    inputs = graph.inputs | {name: t for t, name in new.values()}
    return Graph(inputs, narrowed.outputs)


def behind_channels(op):
    return not any(op.before) and not any((*op.after[:1], *op.after[2:]))


def source_dtypes(read):
    """Returns the types that feeds round only once to the type that is read."""
    return "float32", read.spec.dtype


def has_few_channels(x, op):
    return x.shape[1] < LEAST and x.dtype.itemsize == 2 and op.groups == 1 and x.ndim > 3


def cast_biases(graph, session):
    """Casts biases to their convolutions' type: for others, cuDNN compiles each graph anew."""

    def rule(node, inputs, uses):
        op, kind = node.op, node.outputs[0].spec.dtype
        if isinstance(op, BiasActivationOp) and isinstance(op.product, ConvOp):
            return op(*inputs[:2], cast(inputs[2], kind))

    return graph if session.libraries.graphs is None else fuse(graph, (rule,))


def copy_bound_images(graph, bindings):
    """Returns the graph with channels-last copies of the caller's images and filters.

    Those are in plain order, which cuDNN's graphs do not support here.
    """
    bound = {t for name, t in graph.inputs.items() if name in bindings}
    copies = {}

    def rule(node, inputs, uses):
        if not isinstance(node.op, READERS) or not any(plain(t, bound) for t in node.inputs):
            return None
        for tensor in node.inputs:
            if plain(tensor, bound) and tensor not in copies:
                copies[tensor] = copy(tensor)
        return node.op(
            *(copies.get(old, new) for old, new in zip(node.inputs, inputs, strict=True))
        )

    graph = fuse(graph, (rule,))
    outputs = {
        name: copy(t) if name in bindings and t.node and is_written_channels_last(t) else t
        for name, t in graph.outputs.items()
    }
    return Graph(graph.inputs, outputs)


def plain(tensor, bound):
    """Returns whether a tensor is in plain order: an image that is bound or a constant."""
    return two_orders(tensor) and (tensor in bound or tensor.value is not None)


def is_written_channels_last(tensor):
    return two_orders(tensor) and isinstance(tensor.node.op, READERS)


def two_orders(tensor):
    """Returns whether channels last differs from plain order."""
    return tensor.ndim > 3 and prod(tensor.shape[2:]) > 1
