"""Nodes put in the way the kernels work."""

from dataclasses import dataclass
from functools import partial

from sparkdl.engine.backends.cuda.rewrites.normalization_passes import BY_CHANNELS, PASSES
from sparkdl.engine.chains import readers
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.engine.fusion import BiasActivationOp, fuse
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.shape import ReshapeOp, SliceOp, cast


def decompose(graph, known):
    """Returns the graph with what has no kernel as the operations that it is made of.

    Parameters
    ----------
    known : function of a node: whether it has a kernel
    """

    def rule(node, inputs, uses):
        if type(node.op) in BY_CHANNELS:
            return cast_results(BY_CHANNELS[type(node.op)](node.op, *inputs), node)
        if type(node.op) in PASSES:
            return widely(partial(PASSES[type(node.op)], node.op), node, inputs)
        if known(node) or type(node.op).decompose is Op.decompose:
            return None
        if isinstance(node.op, BiasActivationOp):  # whose product may well be of narrow numbers
            return node.op.decompose(*inputs)
        return widely(node.op.decompose, node, inputs)

    while any(rule(node, node.inputs, None) is not None for node in graph.nodes):
        graph = fuse(graph, (rule,))
    return graph


def widely(make, node, inputs):
    """Returns make(...) of the node's inputs in 32 bits, its results in the node's own types.

    One kernel would round at its end alone, and so does this: in steps of 16 bits a mean keeps
    three digits.
    """
    return cast_results(make(*wide(inputs)), node)


def wide(tensors):
    return tuple(cast(t, computing_dtype(t.dtype)) for t in tensors)


def cast_results(results, node):
    """Returns the tensors that replace a node's outputs, in their types."""
    results = results if isinstance(results, tuple) else (results,)
    return tuple(cast(y, t.spec.dtype) for y, t in zip(results, node.outputs, strict=True))


def cut_before_chains(graph, may):
    """Cuts the inputs of an elementwise node, not its output: its parts go into other chains.

    Parameters
    ----------
    may : function of a node: whether a chain may have it
    """
    users = readers(graph)

    def own(tensor, node):
        """Returns whether a part of what a node reads can be read where it lies."""
        return tensor.shape == () or (tensor.node is not None and users[tensor] == {node})

    def only_cut(node):
        y, parts = node.outputs[0], users[node.outputs[0]]
        if not all(part and cuts(part) for part in parts):
            return False
        once = sum(part.outputs[0].spec.size for part in parts) <= y.spec.size
        return once and all(t.shape in (y.shape, ()) and own(t, node) for t in node.inputs)

    def rule(node, inputs, uses):
        producer = inputs[0].node if cuts(node) else None
        if producer is not None and may(producer) and only_cut(node.inputs[0].node):
            return producer.op(*(t if t.shape == () else node.op(t) for t in producer.inputs))

    return fuse(graph, (rule,))


@dataclass(frozen=True)
class SliceViewOp(SliceOp):
    """A part of an array where it lies."""

    view = True


def slices_in_place(graph, may):
    """Leaves parts of rows and sequences where they lie, where chains alone read them.

    Not of inputs: an update in place may write over them while a part of them is read. Not of
    outputs, which may lie in memory of the caller's.

    Parameters
    ----------
    may : function of a node: whether it is a chain or part of one
    """
    users, outputs = readers(graph), set(graph.outputs.values())

    def alone(tensor):
        return all(node and (may(node) or shown(node)) for node in users[tensor])

    def shown(node):
        return (cuts(node) or drops(node)) and alone(node.outputs[0])

    def rule(node, inputs, uses):
        if cuts(node) and shown(node):
            source = owner(node.inputs[0])
            if source.node is not None and not {source, node.inputs[0]} & outputs:
                return SliceViewOp(node.op.starts, node.op.stops)(*inputs)

    return fuse(graph, (rule,))


def cuts(node):
    return type(node.op) is SliceOp and node.inputs[0].ndim <= 3


def drops(node):
    """Returns whether a node does no more than to leave out or put in axes of one."""
    shapes = [[n for n in t.shape if n > 1] for t in (node.inputs[0], node.outputs[0])]
    low = max(node.inputs[0].ndim, node.outputs[0].ndim) <= 3
    return isinstance(node.op, ReshapeOp) and shapes[0] == shapes[1] and low


def owner(tensor):
    """Returns the tensor whose memory it shows."""
    while tensor.node is not None and tensor.node.op.view:
        tensor = tensor.node.inputs[0]
    return tensor
