"""Chains of elementwise operations become one pass over memory.

Ten operations over a vector of ten million numbers read and write it some thirty times. As one
ChainOp they go over it in blocks that fit the cache, so memory is read and written once: an
optimizer's step is such a chain. The reference backend runs it with numpy; others compile it.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from sparkdl.engine.dtypes import is_narrow, name_of
from sparkdl.engine.graph import Graph, Spec, scope
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.elementwise import ElementwiseOp

FEW, MANY = 4096, 32  # numbers of small arrays; operations on such that are brought together
BLOCK = 16_384  # numbers: the half dozen float32 blocks in use at once stay in a level-2 cache


@register
@dataclass(frozen=True)
class ChainOp(ElementwiseOp):
    """Several elementwise operations on arrays of one shape; scalars may take part.

    Parameters
    ----------
    steps : ((op, (operand, ...)), ...): an operand below the number of inputs is that input,
        above it is the result of an earlier step
    results : the steps whose results are the outputs
    """

    steps: tuple
    results: tuple[int, ...]

    @property
    def label(self):
        return "+".join(op.kind for op, _ in self.steps)

    def shape(self, *specs):
        values = list(specs)
        for op, operands in self.steps:
            values.append(op.shape(*(values[i] for i in operands)))
        return tuple(values[len(specs) + i] for i in self.results)

    def decompose(self, *inputs):
        values = list(inputs)
        for op, operands in self.steps:
            values.append(op(*(values[i] for i in operands)))
        return tuple(values[len(inputs) + i] for i in self.results)

    def reference(self, *inputs):
        return self.decompose(*inputs)


def into_chains(graph, may=None):
    """Returns the graph with its elementwise regions of two or more nodes as one ChainOp each.

    `may` says which nodes may lie in a chain, where not `chainable`: a backend that compiles knows.
    """
    may = cache(may or chainable)  # asked of a node from all its sides
    levels = node_levels(graph, may)
    found = [chain for chain in regions(graph, may, levels) if len(chain) > 1]
    if not found:
        return graph
    chains = {node: chain for chain in found for node in chain}
    new, users = {}, readers(graph)
    for node in sorted(graph.nodes, key=levels.get):
        if node.outputs[0] in new:
            continue
        with scope(node.scope):
            if node in chains:
                new |= merge_into_chain(chains[node], new, users)
            else:
                result = node.op(*(new.get(t, t) for t in node.inputs))
                results = result if isinstance(result, tuple) else (result,)
                new |= zip(node.outputs, results, strict=True)
    return Graph(graph.inputs, {name: new.get(t, t) for name, t in graph.outputs.items()})


def readers(graph):
    """Returns {tensor: the nodes that read it}, with None among them for an output of the graph."""
    users = {}
    for node in graph.nodes:
        for tensor in node.inputs:
            users.setdefault(tensor, set()).add(node)
    for tensor in graph.outputs.values():
        users.setdefault(tensor, set()).add(None)
    return users


def merge_into_chain(chain, new, users):
    """Returns {tensor made by `chain`: what takes its place, None where nobody else reads it}"""
    made_at = {node.outputs[0]: i for i, node in enumerate(chain)}
    inputs = list(dict.fromkeys(t for node in chain for t in node.inputs if t not in made_at))
    place = {t: i for i, t in enumerate(inputs)} | {t: len(inputs) + i for t, i in made_at.items()}
    steps = tuple((node.op, tuple(place[t] for t in node.inputs)) for node in chain)
    outputs = [t for t in made_at if users[t] - set(chain)]
    op = ChainOp(steps, tuple(made_at[t] for t in outputs))
    results = op(*(new.get(t, t) for t in inputs))
    return dict.fromkeys(made_at) | dict(zip(outputs, results, strict=True))


def regions(graph, may, levels):
    """Returns regions of elementwise nodes of one shape and level: no path leads out and back."""
    parent = {}
    for node in filter(may, graph.nodes):
        parent[node] = node
        for before in {t.node for t in node.inputs} & parent.keys():
            if levels[before] == levels[node] and fits(before, node, may):
                parent[root(before, parent)] = node
    for level in neighbors(parent, levels):
        for node in level[1:]:
            parent[root(node, parent)] = root(level[0], parent)
    chains = {}
    for node in parent:
        chains.setdefault(root(node, parent), []).append(node)
    return [tuple(region) for region in chains.values()]


def neighbors(nodes, levels):
    """Returns nodes of a layer with few numbers and one level: a call costs more than they do."""
    alike = {}
    for node in nodes:
        if prod(node.outputs[0].shape) <= FEW:
            alike.setdefault((levels[node], node.outputs[0].shape, node.scope), []).append(node)
    return [group for group in alike.values() if len(group) <= MANY]


def root(node, parent):
    """Returns the node that stands for the region of `node`."""
    while parent[node] is not node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


def node_levels(graph, may):
    """Returns {node: the number of regions on the longest way to it}.

    It never falls along a way.

    What is worked out from scalars alone comes first, below level 0: it stands in no chain's way.
    What one chain alone reads lies in it, however late that is, if nothing larger is kept for it.
    """
    levels, lowest = {}, -len(graph.nodes)
    for node in graph.nodes:
        before = [t.node for t in node.inputs if t.node is not None]
        scalar = all(t.shape == () for t in (*node.inputs, *node.outputs))
        alone = scalar and all(levels[b] < 0 for b in before)
        ways = [levels[b] + (not fits(b, node, may)) for b in before]
        levels[node] = max([*ways, lowest if alone else 0])
    users = readers(graph)
    for node in filter(may, reversed(graph.nodes)):
        users_of = users.get(node.outputs[0], {None})
        near = None not in users_of and all(fits(node, user, may) for user in users_of)
        later = {levels[user] for user in users_of} if near else ()
        inputs = {t for t in node.inputs if t.node is not None and t.shape == node.outputs[0].shape}
        if len(later) == 1 and sum(t.spec.nbytes for t in inputs) <= node.outputs[0].spec.nbytes:
            levels[node] = later.pop()
    return levels


def fits(first, second, may):
    """Returns whether two neighbors may lie in one chain."""
    shapes = first.outputs[0].shape, second.outputs[0].shape
    return shapes[0] == shapes[1] and may(first) and may(second)


def chainable(node):
    """Returns whether a node is elementwise on arrays of one shape and scalars, worth a loop."""
    out = node.outputs[0].shape
    same_shape = all(t.shape in (out, ()) for t in node.inputs)
    plain = isinstance(node.op, ElementwiseOp) and not isinstance(node.op, ChainOp)
    narrow = any(is_narrow(t.dtype) for t in (*node.inputs, *node.outputs))
    return plain and same_shape and out != () and not narrow


def chain_kernel(chain, inputs, outputs):
    """Returns a call that runs the steps block by block.

    An output may lie on an input of its shape.
    """
    size, count = outputs[0].size, len(inputs)
    flat = [x.reshape(-1) if x.shape == outputs[0].shape else x for x in inputs]
    outs = [o.reshape(-1) for o in outputs]
    rooms = registers(chain, inputs)

    def call():
        for start in range(0, size, BLOCK):
            stop = min(start + BLOCK, size)
            values = [x[start:stop] if x.ndim else x for x in flat]
            for (op, operands), room in zip(chain.steps, rooms, strict=True):
                values.append(run(op, [values[i] for i in operands], room[: stop - start]))
            for out, i in zip(outs, chain.results, strict=True):
                np.copyto(out[start:stop], values[count + i])

    return call


def run(op, arrays, into):
    if op.ufunc is not None:
        return op.ufunc(*arrays, out=into)
    np.copyto(into, op.reference(*arrays))
    return into


def registers(chain, inputs):
    """Returns a block of scratch memory for each step.

    A step takes over one that is read no more.
    """
    count, specs = len(inputs), [Spec(x.shape, name_of(x.dtype)) for x in inputs]
    length = min(BLOCK, max(x.size for x in inputs))
    last = {count + i: len(chain.steps) for i in chain.results}
    for step, (_, operands) in enumerate(chain.steps):
        last |= {i: max(step, last.get(i, 0)) for i in operands}
    free, rooms = [], []
    for step, (op, operands) in enumerate(chain.steps):
        specs.append(op.shape(*(specs[i] for i in operands)))
        dtype = specs[-1].dtype
        room = next((r for r in free if r.dtype == dtype), None)
        free = [r for r in free if r is not room]
        rooms.append(np.empty(length, dtype) if room is None else room)
        free += [rooms[i - count] for i in set(operands) if i >= count and last[i] == step]
    return rooms
