"""Decomposition of nodes into forms that kernels support."""

from dataclasses import dataclass
from functools import partial

from sparkdl.engine.backends.cuda.rewrites.normalization_passes import BY_CHANNELS, PASSES
from sparkdl.engine.chains import readers
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.engine.fusion import BiasActivationOp, fuse
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.shape import ReshapeOp, SliceOp, cast


def decompose(graph, known):
    """Returns the graph with operations that have no kernel decomposed.

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
        if isinstance(node.op, BiasActivationOp):  # its product may be of narrow numbers
            return node.op.decompose(*inputs)
        return widely(node.op.decompose, node, inputs)

    while any(rule(node, node.inputs, None) is not None for node in graph.nodes):
        graph = fuse(graph, (rule,))
    return graph


def widely(make, node, inputs):
    """Returns make(...) of the node's inputs in 32 bits, its results in the node's own types.

    Like one kernel, this rounds only at the end: in steps of 16 bits, a mean keeps three digits.
    """
    return cast_results(make(*wide(inputs)), node)


def wide(tensors):
    return tuple(cast(t, computing_dtype(t.dtype)) for t in tensors)


def cast_results(results, node):
    """Returns tensors as a node's outputs, cast to their types."""
    results = results if isinstance(results, tuple) else (results,)
    return tuple(cast(y, t.spec.dtype) for y, t in zip(results, node.outputs, strict=True))


def cut_before_chains(graph, may):
    """Slices the inputs of an elementwise node, not its output; its parts join other chains.

    Parameters
    ----------
    may : function of a node: whether a chain may contain it
    """
    users = readers(graph)

    def own(tensor, node):
        """Returns whether a slice of an input of the node can be read in place."""
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
    """A slice as a view."""

    view = True


def slices_in_place(graph, may):
    """Turns slices of rows and sequences into views if only chains read them.

    Not slices of inputs: an in-place update may overwrite them while they are read. Not slices of
    outputs, which may be in the caller's memory.

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
    """Returns whether a node only removes or inserts axes of length 1."""
    shapes = [[n for n in t.shape if n > 1] for t in (node.inputs[0], node.outputs[0])]
    low = max(node.inputs[0].ndim, node.outputs[0].ndim) <= 3
    return isinstance(node.op, ReshapeOp) and shapes[0] == shapes[1] and low


def owner(tensor):
    """Returns the tensor whose memory it is a view of."""
    while tensor.node is not None and tensor.node.op.view:
        tensor = tensor.node.inputs[0]
    return tensor
