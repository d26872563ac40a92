"""An elementwise chain and its arrays, as a launch of a kernel generated for it."""

from functools import cache

import numpy as np

from sparkdl.engine.axes import kinds_of, merge_axes
from sparkdl.engine.backends.cuda.kernels import chain_source
from sparkdl.engine.backends.cuda.kernels.chain_source import APART, DENSE, SHARED, ChainSource
from sparkdl.engine.backends.cuda.kernels.expressions import OPERATIONS
from sparkdl.engine.backends.cuda.kernels.modules import C_TYPES
from sparkdl.engine.backends.cuda.kernels.walks import WIDEST
from sparkdl.engine.chains import ChainOp, into_chains
from sparkdl.engine.graph import Graph, Spec, Tensor
from sparkdl.engine.ops.reduce import equal
from sparkdl.engine.ops.shape import BroadcastToOp, copy

BLOCK = 256  # threads
LARGE = 1 << 30


def may_chain(node):
    """Returns whether a chain may contain a node; its operands may broadcast."""
    kinds = {tensor.spec.dtype for tensor in (*node.inputs, *node.outputs)}
    return type(node.op) in OPERATIONS and kinds <= C_TYPES.keys()


def is_chain(node):
    """Returns whether a node is lowered by `chain`."""
    return isinstance(node.op, ChainOp) or may_chain(node)


def chain(session, op, inputs, outputs):
    """Lowers a ChainOp or elementwise operation; an output may alias an input of its shape."""
    op = op if isinstance(op, ChainOp) else ChainOp(((op, tuple(range(len(inputs)))),), (0,))
    shape = outputs[0].shape
    arrays = [*(np.broadcast_to(x, shape) for x in inputs), *outputs]
    axes = merge_axes(arrays)
    length, strides = axes.pop() if axes else (1, [a.itemsize for a in arrays])
    layouts = tuple(map(layout_of, strides, arrays))
    at_once = numbers_at_once(arrays, layouts, length, [steps for _, steps in axes])
    large = max(outputs[0].size, length) >= LARGE
    kinds = kinds_of(inputs), kinds_of(outputs)
    function = session.function(text(op, *kinds, layouts, len(axes), at_once, large), "chain")
    groups = -(-length // at_once) * (outputs[0].size // max(length, 1))
    sizes = [size for size, _ in reversed(axes)]
    values = [number(n, large) for n in (groups, length, *sizes)]
    for i, array in enumerate(arrays):
        values += [array, strides[i], *(steps[i] for _, steps in reversed(axes))]
    grid = session.grid(groups, BLOCK)
    return [session.launch(function, grid, BLOCK, *values)] if groups else [], "compiled chain"


def number(n, large):
    return np.uint64(n) if large else np.uint32(n)


def layout_of(stride, array):
    """Returns the layout of an array's numbers along a row."""
    return {0: SHARED, array.itemsize: DENSE}.get(stride, APART)


def numbers_at_once(arrays, layouts, length, steps):
    """Returns how many numbers of a row a thread takes: as many as one wide access each allows."""
    dense = [i for i, layout in enumerate(layouts) if layout == DENSE]
    count = WIDEST // max((arrays[i].itemsize for i in dense), default=WIDEST)
    if APART in layouts or length < count or not dense:
        return 1
    for i in dense:
        size = count * arrays[i].itemsize
        if any(place % size for place in (arrays[i].address, *(s[i] for s in steps))):
            return 1
    return count


@cache
def text(op, inputs, outputs, layouts, axes, at_once, large):
    """Returns the kernel's source; cached, as networks repeat a few chains many times."""
    specs = [Spec((), kind) for kind in inputs]
    for step, operands in op.steps:
        of = [specs[i] for i in operands]
        specs.append(of[0] if isinstance(step, BroadcastToOp) else step.shape(*of))
    return chain_source.text(
        ChainSource(
            steps=op.steps,
            results=op.results,
            kinds=tuple(spec.dtype for spec in specs[len(inputs) :]),
            inputs=inputs,
            outputs=outputs,
            layouts=layouts,
            axes=axes,
            at_once=at_once,
            large=large,
        )
    )


def decompose_calls(session, op, inputs, output):
    """Returns the calls of an operation that is elementwise or decomposes into such."""
    tensors = [Tensor(Spec(a.shape, a.dtype.name)) for a in inputs]
    y = op.decompose(*tensors) if type(op) not in OPERATIONS else op(*tensors)
    graph = Graph({str(i): t for i, t in enumerate(tensors)}, {"y": y})
    [node] = into_chains(graph, may_chain).nodes
    arrays = dict(zip(tensors, inputs, strict=True))
    operands = [arrays[t] if t in arrays else session.constant(t.value) for t in node.inputs]
    return chain(session, node.op, operands, [output])[0]


def copy_array(session, op, inputs, outputs):
    """Copies the input to the type and layout of the output, with broadcasting."""
    return chain(session, copy, inputs, outputs)


def one_hot(session, op, inputs, outputs):
    """Compares the labels with each class along the last axis."""
    [labels] = inputs
    classes = session.constant(np.arange(op.classes).astype(labels.dtype))
    return chain(session, equal, [np.expand_dims(labels, -1), classes], outputs)
