"""Fusion of elementwise operations into chains that pass over memory once.

Ten operations over a vector of ten million numbers read and write it some thirty times. A ChainOp
runs them block by block within the cache, so memory is read and written once. An optimizer step is
such a chain. The reference backend runs it with numpy; other backends compile it.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from sparkdl.engine.dtypes import is_narrow, name_of
from sparkdl.engine.graph import Graph, Spec, scope
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.elementwise import ElementwiseOp

FEW, MANY = 4096, 32  # numbers and arrays, up to which unrelated small operations are fused
BLOCK = 16_384  # numbers: the half dozen float32 blocks in use at once fit in a level-2 cache


@register
@dataclass(frozen=True)
class ChainOp(ElementwiseOp):
    """Several elementwise operations on arrays of one shape and on scalars.

    Parameters
    ----------
    steps : ((op, (operand, ...)), ...): an operand below the number of inputs is that input; higher
        ones count the results of earlier steps
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
    """Returns the graph with each elementwise region of two or more nodes fused into one ChainOp.

    `may` tells which nodes may be part of a chain, by default `chainable`; a backend that compiles
    chains passes its own.
    """
    may = cache(may or chainable)  # asked of a node once per neighbor
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
    """Returns {tensor: nodes that read it}; None among them marks an output of the graph."""
    users = {}
    for node in graph.nodes:
        for tensor in node.inputs:
            users.setdefault(tensor, set()).add(node)
    for tensor in graph.outputs.values():
        users.setdefault(tensor, set()).add(None)
    return users


def merge_into_chain(chain, new, users):
    """Returns {tensor made by `chain`: its replacement, None if nothing else reads it}."""
    made_at = {node.outputs[0]: i for i, node in enumerate(chain)}
    inputs = list(dict.fromkeys(t for node in chain for t in node.inputs if t not in made_at))
    place = {t: i for i, t in enumerate(inputs)} | {t: len(inputs) + i for t, i in made_at.items()}
    steps = tuple((node.op, tuple(place[t] for t in node.inputs)) for node in chain)
    outputs = [t for t in made_at if users[t] - set(chain)]
    op = ChainOp(steps, tuple(made_at[t] for t in outputs))
    results = op(*(new.get(t, t) for t in inputs))
    return dict.fromkeys(made_at) | dict(zip(outputs, results, strict=True))


def regions(graph, may, levels):
    """Returns elementwise regions of one shape and level; no path leaves and re-enters one."""
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
    """Groups small nodes of one scope, shape and level, as a call costs more than their work."""
    alike = {}
    for node in nodes:
        if prod(node.outputs[0].shape) <= FEW:
            alike.setdefault((levels[node], node.outputs[0].shape, node.scope), []).append(node)
    return [group for group in alike.values() if len(group) <= MANY]


def root(node, parent):
    """Returns the representative of a node's region (union-find with path compression)."""
    while parent[node] is not node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


def node_levels(graph, may):
    """Returns {node: the largest number of region boundaries on a path to it}.

    Levels never decrease along a path. Nodes computed from scalars alone get a level below 0, so
    that they never split a chain. A node read by a single chain joins its level, however late,
    unless that would keep larger tensors alive.
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
    """Returns whether two adjacent nodes may share a chain."""
    shapes = first.outputs[0].shape, second.outputs[0].shape
    return shapes[0] == shapes[1] and may(first) and may(second)


def chainable(node):
    """Returns whether a node is elementwise on wide numbers of one shape and scalars."""
    out = node.outputs[0].shape
    same_shape = all(t.shape in (out, ()) for t in node.inputs)
    plain = isinstance(node.op, ElementwiseOp) and not isinstance(node.op, ChainOp)
    narrow = any(is_narrow(t.dtype) for t in (*node.inputs, *node.outputs))
    return plain and same_shape and out != () and not narrow


def chain_kernel(chain, inputs, outputs):
    """Returns a call that runs the steps of a chain block by block.

    An output may share memory with an input of its shape.
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
    """Returns a scratch block for each step; a step reuses blocks that are no longer read."""
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
