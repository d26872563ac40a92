"""Memory plan of a graph: views of other tensors, memory of the caller, or an arena.

Lifetimes are known before the first run, so tensors that are never alive together share bytes.
"""

from bisect import insort
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from sparkdl.engine.graph import Graph
from sparkdl.engine.ops.shape import copy
from sparkdl.engine.shared_memory import SharedMemory
from sparkdl.errors import ShapeError

ALIGNMENT = 64  # a cache line, and the widest vector register


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of each tensor of a graph.

    Parameters
    ----------
    arena_bytes : the size of the arena
    offsets : {tensor: first byte in the arena}
    roots : {view: the tensor that owns its memory}
    direct : {tensor: the caller's memory, written by the node itself}
    copies : [(tensor, the caller's memory, to which it is copied at the end)]
    """

    arena_bytes: int
    offsets: dict
    roots: dict
    direct: dict
    copies: list


def plan(graph, bindings, constants=frozenset()):
    """Assigns memory to each tensor of `graph`.

    Parameters
    ----------
    graph : Graph
    bindings : {name: ndarray}: the caller's memory of inputs and outputs. An output may be bound to
        the memory of an input, which is then updated in place.
    constants : set of tensors that persist from run to run, so their memory is never shared
    """
    roots = view_roots(graph)
    last = last_uses(graph, roots)
    last |= {roots.get(t, t): len(graph.nodes) for t in constants}
    inputs = {t: bindings[name] for name, t in graph.inputs.items() if name in bindings}
    direct, copies = split_outputs(graph, bindings, inputs, roots, last)
    offsets = pack(graph, {**inputs, **direct}, roots, last, constants)
    sizes = {t: align(t.spec.nbytes) for t in offsets}
    arena = max((offset + sizes[t] for t, offset in offsets.items()), default=0)
    return MemoryPlan(arena, offsets, roots, direct, copies)


def check(graph, bindings):
    """Raises ShapeError if an array does not fit its binding, or if two outputs overlap."""
    for name in bindings.keys() - graph.inputs.keys() - graph.outputs.keys():
        known = sorted({*graph.inputs, *graph.outputs})
        raise ShapeError(f"{name!r} is bound, but the graph has {known}")
    for name, tensor in [*graph.inputs.items(), *graph.outputs.items()]:
        if name in bindings:
            fit(name, tensor, bindings[name])
    targets = [(name, bindings[name]) for name in graph.outputs if name in bindings]
    memory = SharedMemory([array for _, array in targets])
    for i, (name, array) in enumerate(targets):
        if not array.flags.writeable:
            raise ShapeError(f"{name!r} is an output: its memory must be writeable")
        first = min(memory.sharing(array), default=i)
        if first < i:
            other = targets[first][0]
            raise ShapeError(f"outputs {other!r} and {name!r} are bound to the same memory")


def fit(name, tensor, array):
    if array.shape != tensor.shape or array.dtype != tensor.dtype:
        actual = f"{array.shape} {array.dtype.name}"
        raise ShapeError(f"{name!r} needs {tensor.shape} {tensor.spec.dtype}, got {actual}")
    if not array.flags.c_contiguous:
        raise ShapeError(f"{name!r} needs contiguous memory, got strides {array.strides}")


def with_copies(graph, bindings):
    """Inserts a CopyOp for each output that is an input and would be overwritten."""
    roots = view_roots(graph)
    held = {t: bindings[name] for name, t in graph.inputs.items() if name in bindings}

    def overwritten(name, tensor):
        memory = held.get(roots.get(tensor, tensor))
        if memory is None:
            return False
        others = (bindings[o] for o in graph.outputs if o in bindings and o != name)
        return any(np.may_share_memory(memory, other) for other in others)

    outputs = {n: copy(t) if overwritten(n, t) else t for n, t in graph.outputs.items()}
    return Graph(graph.inputs, outputs)


def view_roots(graph):
    """Returns {view: the tensor that owns its memory}."""
    roots = {}
    for node in graph.nodes:
        if node.op.view:
            source = node.inputs[0]
            roots[node.outputs[0]] = roots.get(source, source)
    return roots


def last_uses(graph, roots):
    """Returns {owner of memory: index of its last reader}, one past the end for outputs."""
    last = {}
    for index, node in enumerate(graph.nodes):
        for tensor in (*node.outputs, *node.inputs):
            last[roots.get(tensor, tensor)] = index
    for tensor in graph.outputs.values():
        last[roots.get(tensor, tensor)] = len(graph.nodes)
    return last


def split_outputs(graph, bindings, inputs, roots, last):
    """Splits outputs into those that nodes write directly and those copied at the end.

    Views are copied, and so are outputs bound to the memory of an input that is read later.
    """
    direct, copies, held = {}, [], [*inputs]
    memory = SharedMemory([*inputs.values()])
    position = {t: i for i, node in enumerate(graph.nodes) for t in node.outputs}
    for name, tensor in graph.outputs.items():
        if name not in bindings:
            continue
        array = bindings[name]
        owns = tensor in position and tensor not in roots and tensor not in direct
        shared = [held[i] for i in memory.sharing(array)]
        at = position.get(tensor)
        ends = [(inputs[t], last.get(t, -1)) for t in shared]
        if owns and all(may_overwrite(graph, at, array, read, end) for read, end in ends):
            direct[tensor] = array
        else:
            copies.append((tensor, array))
    return direct, copies


def may_overwrite(graph, index, array, memory, end):
    """Returns whether a node may write to `array` though the input `memory` is read up to `end`."""
    places = [(a.ctypes.data, a.shape, a.dtype) for a in (array, memory)]
    in_place = graph.nodes[index].op.in_place and places[0] == places[1]
    return end < index or (end == index and in_place)


def pack(graph, elsewhere, roots, last, constants=frozenset()):
    """Returns {tensor: offset}: the largest first, each at the lowest offset free in its life.

    References
    ----------
    Pisarchyk and Lee, Efficient memory management for deep neural net inference (2020), 5.2.
    """
    spans = lifetimes(graph, elsewhere, roots, last)
    spans |= {t: (-1, len(graph.nodes)) for t in spans if t in constants}
    owners = take_over(graph, spans, roots)
    for tensor, owner in owners.items():
        spans[owner] = spans[owner][0], spans.pop(tensor)[1]
    offsets, placed = {}, []
    for tensor in sorted(spans, key=lambda t: -t.spec.nbytes):
        begin, end = spans[tensor]
        size, at = align(tensor.spec.nbytes), 0
        for start, stop, b, e in placed:
            if b <= end and begin <= e:
                if at + size <= start:
                    break
                at = max(at, stop)
        offsets[tensor] = at
        insort(placed, (at, at + size, begin, end), key=itemgetter(0, 1))
    return offsets | {tensor: offsets[owner] for tensor, owner in owners.items()}


def take_over(graph, spans, roots):
    """Returns {output: the tensor whose memory it takes over}; see Op.overwrites."""
    owners = {}
    for index, node in enumerate(graph.nodes):
        if node.op.overwrites is None:
            continue
        before, output = node.inputs[node.op.overwrites], node.outputs[0]
        begin, end = spans.get(before, (-1, -1))
        read = [roots.get(tensor, tensor) for tensor in node.inputs]
        fits = before.spec == output.spec and read.count(before) == 1 and output in spans
        if begin >= 0 and end == index and fits:
            owners[output] = owners.get(before, before)
    return owners


def lifetimes(graph, elsewhere, roots, last):
    """Returns {tensor in the arena: (index of its producer, index of its last reader)}."""
    spans = {t: (-1, last.get(t, -1)) for t in graph.inputs.values() if t not in elsewhere}
    for index, node in enumerate(graph.nodes):
        for tensor in node.outputs:
            if tensor not in elsewhere and tensor not in roots:
                spans[tensor] = (index, last[tensor])
    return spans


def align(size):
    return -(-size // ALIGNMENT) * ALIGNMENT
