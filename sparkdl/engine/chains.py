"""Chains of elementwise operations become one pass over memory.

Ten operations over a vector of ten million numbers read and write it some thirty times. As
one Chain they go over it in blocks that fit the cache, so memory is read and written once: an updater's
step is such a chain. The reference backend runs it with numpy; others compile it.
"""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.graph import Graph, Spec
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.elementwise import Elementwise

BLOCK = 16_384  # numbers: the half dozen float32 blocks in use at once stay in a level-2 cache


@register
@dataclass(frozen=True)
class Chain(Elementwise):
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
        return "+".join(type(op).__name__ for op, _ in self.steps)

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


def into_chains(graph):
    """The graph with its elementwise regions of two or more nodes as one Chain each."""
    chains = {node: chain for chain in regions(graph) if len(chain) > 1 for node in chain}
    new, done = {}, set()
    for node in by_level(graph):
        chain = chains.get(node, (node,))
        if id(chain) not in done:
            done.add(id(chain))
            outputs, results = merged(graph, chain, new)
            new.update(zip(outputs, results, strict=True))
    return Graph(graph.inputs, {name: new.get(t, t) for name, t in graph.outputs.items()})


def merged(graph, chain, new):
    """(tensors of `chain` that others read, the tensors that now take their place)"""
    if len(chain) == 1:
        node = chain[0]
        result = node.op(*(new.get(t, t) for t in node.inputs))
        return node.outputs, result if isinstance(result, tuple) else (result,)
    made = {node.outputs[0]: i for i, node in enumerate(chain)}
    inputs = list(dict.fromkeys(t for node in chain for t in node.inputs if t not in made))
    place = {t: i for i, t in enumerate(inputs)} | {t: len(inputs) + i for t, i in made.items()}
    steps = tuple((node.op, tuple(place[t] for t in node.inputs)) for node in chain)
    inside = set(chain)
    read = {t for node in graph.nodes if node not in inside for t in node.inputs}
    outputs = [t for t in made if t in read or t in set(graph.outputs.values())]
    op = Chain(steps, tuple(made[t] for t in outputs))
    return outputs, op(*(new.get(t, t) for t in inputs))


def regions(graph):
    """Connected elementwise nodes of one size and level: nothing outside lies on a path between them."""
    levels, owner = node_levels(graph), {}
    for node in graph.nodes:
        if not chainable(node):
            continue
        mine = [node]
        for before in {t.node for t in node.inputs} & owner.keys():
            if alike(before, node, levels) and owner[before] is not mine:
                mine = owner[before] + mine
        for member in mine:
            owner[member] = mine
    order = {node: i for i, node in enumerate(graph.nodes)}
    unique = {id(region): region for region in owner.values()}
    return [tuple(sorted(set(region), key=order.get)) for region in unique.values()]


def node_levels(graph):
    """{node: how often the longest way to it changes between regions}, which never falls along a way.

    What is worked out from scalars alone comes first, at level -1: it stands in no chain's way.
    """
    levels = {}
    for node in graph.nodes:
        before = [t.node for t in node.inputs if t.node is not None]
        scalar = all(t.shape == () for t in (*node.inputs, *node.outputs))
        alone = scalar and all(levels[b] < 0 for b in before)
        ways = [levels[b] + (not fits(b, node)) for b in before]
        levels[node] = -1 if alone else max(ways, default=0)
    return levels


def by_level(graph):
    levels = node_levels(graph)
    return sorted(graph.nodes, key=levels.get)


def alike(first, second, levels):
    return levels[first] == levels[second] and fits(first, second)


def fits(first, second):
    """Whether two neighbours may lie in one chain."""
    return chainable(first) and chainable(second) and same_size(first, second)


def same_size(first, second):
    return first.outputs[0].spec.size == second.outputs[0].spec.size


def chainable(node):
    """Elementwise on arrays of the output's shape and scalars, with a shape worth a loop."""
    out = node.outputs[0].shape
    whole = all(t.shape in (out, ()) for t in node.inputs)
    return isinstance(node.op, Elementwise) and whole and out != ()


def chain_kernel(chain, inputs, outputs):
    """A call that runs the steps block by block; an output may lie on an input of the same shape."""
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
    """A block of scratch memory for each step; a step takes over one that is read no more."""
    count, specs = len(inputs), [Spec(x.shape, x.dtype.name) for x in inputs]
    last = {count + i: len(chain.steps) for i in chain.results}
    for step, (_, operands) in enumerate(chain.steps):
        last |= {i: max(step, last.get(i, 0)) for i in operands}
    free, rooms = [], []
    for step, (op, operands) in enumerate(chain.steps):
        specs.append(op.shape(*(specs[i] for i in operands)))
        dtype = specs[-1].dtype
        room = next((r for r in free if r.dtype == dtype), None)
        free = [r for r in free if r is not room]
        rooms.append(np.empty(BLOCK, dtype) if room is None else room)
        free += [rooms[i - count] for i in set(operands) if i >= count and last[i] == step]
    return rooms
