"""Recurrent operations that cuDNN supports, as single nodes; stacked layers become one."""

from dataclasses import replace

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn import Cell
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn_api import TYPES
from sparkdl.engine.backends.cuda.lowerings.recurrent import WalkGradOp, WalkOp
from sparkdl.engine.fusion import apply_first
from sparkdl.engine.graph import Graph, constant, scope
from sparkdl.engine.ops.recurrent.base import RecurrentOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp
from sparkdl.engine.ops.recurrent.gru import GruOp
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from sparkdl.engine.ops.shape import cast
from sparkdl.errors import UnsupportedError


def replace_stacks(graph, session):
    """Returns the graph with WalkOps for what cuDNN supports, and their gradients."""
    if session.libraries.recurrent is None:
        return graph
    stacks, new = stacks_of(graph, session), {}
    for node in graph.nodes:
        forward = node.inputs[-1].node if isinstance(node.op, RecurrentGradOp) else node
        stack = stacks.get(forward)
        with scope(node.scope):
            if stack is None:
                inputs = [new.get(t, t) for t in node.inputs]
                outputs = zip(node.outputs, apply_first((), node, inputs, None), strict=True)
            elif forward is not stack.nodes[-1]:
                continue  # made with the last layer
            else:
                replace = stack.replace_forward if node is forward else stack.replace_backward
                outputs = replace(new)
        new.update(outputs)
    return Graph(graph.inputs, {name: new.get(t, t) for name, t in graph.outputs.items()})


def stacks_of(graph, session):
    """Returns {node of the graph: the RecurrentStack that it is a layer of}."""
    gradients, uses, stacks = gradients_of(graph), graph.uses(), {}
    for node in graph.nodes:
        if not isinstance(node.op, RecurrentOp):
            continue
        try:
            if uses.get(node.outputs[-1], 0) != (node in gradients):
                raise UnsupportedError("something else reads what it keeps for its gradient")
            layer = session.libraries.recurrent.layer(cell_of(node, session))
        except UnsupportedError as why:
            note = f"{node.op.kind} without cuDNN: {why}"
            session.notes += [note] if note not in session.notes else []
            continue
        stack = RecurrentStack([node], gradients, layer)
        below = stacks.get(node.inputs[0].node)
        if below is not None:
            stack = below.with_top(stack, uses, session.libraries.recurrent) or stack
        stacks |= dict.fromkeys(stack.nodes, stack)
    return stacks


def gradients_of(graph):
    """Returns {node: the RecurrentGradOp that reads what it saved}."""
    return {n.inputs[-1].node: n for n in graph.nodes if isinstance(n.op, RecurrentGradOp)}


def cell_of(node, session):
    """Returns the Cell of a node; UnsupportedError if cuDNN has nothing of the kind."""
    op, (x, _, wh, *_), kind = node.op, node.inputs, node.outputs[0].spec.dtype
    why = refusal(op) or (None if kind in TYPES else f"it has no {kind}")
    if why:
        raise UnsupportedError(why)
    (n, steps, features), mode = x.shape, "LSTM" if isinstance(op, LstmOp) else "GRU"
    sizes = {"n": n, "steps": steps, "features": features, "units": wh.shape[0]}
    return Cell(mode=mode, kind=kind, tf32=session.tf32 and kind == "float32", **sizes)


def refusal(op):
    """Returns which feature of a recurrent operation cuDNN lacks, or None."""
    if not isinstance(op, LstmOp | GruOp):
        return "only LSTMs and GRUs go to it"
    reasons = {
        "its LSTMs have no peepholes": op.peepholes,
        "its GRUs reset after the product": isinstance(op, GruOp) and not op.reset_after,
        "its sequences have no masks": op.keep or op.mask,
        "its gates are sigmoids": op.slope is not None,
    }
    return next((why for why, holds in reasons.items() if holds), None)


class RecurrentStack:
    """Recurrent nodes, each reading the previous one's outputs, that become one WalkOp.

    Parameters
    ----------
    nodes : recurrent nodes, lowest layer first
    gradients : {node: its RecurrentGradOp} for the whole graph
    layer : RnnLayer
    """

    def __init__(self, nodes, gradients, layer):
        self.nodes, self.gradients, self.layer = nodes, gradients, layer
        self.backwards, self.states = nodes[0].op.backwards, nodes[0].op.states
        self.read = None

    def with_top(self, top, uses, library):
        """Returns the RecurrentStack with another layer on top; None if they cannot be merged."""
        below, [node], cell = self.nodes[-1], top.nodes, self.layer.cell
        trained = node in self.gradients
        like = replace(cell, layers=1, features=cell.units) == top.layer.cell
        alone = uses.get(below.outputs[0]) == 1 + trained
        alone = alone and not any(uses.get(t) for t in below.outputs[1:-1])
        if node.inputs[0] is not below.outputs[0] or not alone or not like:
            return None
        if self.backwards or top.backwards or (below in self.gradients) != trained:
            return None
        if trained:
            gx = self.gradients[node].outputs[0]
            if self.gradients[below].inputs[0] is not gx or uses[gx] > 1:
                return None
        try:
            layer = library.layer(replace(cell, layers=cell.layers + 1))
        except UnsupportedError:
            return None
        return RecurrentStack([*self.nodes, node], self.gradients, layer)

    def replace_forward(self, new):
        """Returns [(output of the last node, tensor)]."""
        layer, kind = self.layer, self.layer.cell.kind
        stack_inputs = [[cast(new.get(t, t), kind) for t in node.inputs] for node in self.nodes]
        x, states = self.reverse(stack_inputs[0][0]), stack_states([g[4:] for g in stack_inputs])
        row = pack_weights(
            layer, [dict(zip(("wx", "wh", "b"), g[1:4], strict=True)) for g in stack_inputs]
        )
        trained = self.nodes[-1] in self.gradients
        y, *rest = WalkOp(layer.cell, layer.reserve if trained else 0)(x, row, *states)
        self.read = x, row, *states, y, rest[-1]
        last = split_states(rest[: self.states], len(self.nodes))[-1]
        return zip(self.nodes[-1].outputs, (self.reverse(y), *last), strict=False)

    def replace_backward(self, new):
        """Yields (output of a gradient, tensor) for all layers."""
        kind, nodes = self.layer.cell.kind, [self.gradients[node] for node in self.nodes]
        stack_inputs = [[new.get(t, t) for t in node.inputs[: 1 + self.states]] for node in nodes]
        glast = stack_states([[cast(t, kind) for t in states] for _, *states in stack_inputs])
        gy = self.reverse(cast(stack_inputs[-1][0], kind))
        gx, row, *gstates = WalkGradOp(self.layer.cell)(gy, *glast, *self.read)
        outputs = zip(
            nodes, unpack_gradients(self.layer, row), split_states(gstates, len(nodes)), strict=True
        )
        for node, grads, states in outputs:
            yield from zip(node.outputs[1:], (*grads, *states), strict=True)
        yield nodes[0].outputs[0], self.reverse(gx)

    def reverse(self, x):
        return ops.reverse_time(x) if self.backwards else x


def stack_states(layers):
    """Returns each state: (N, H) for one layer, else (layers, N, H)."""
    if len(layers) == 1:
        return layers[0]
    return [
        ops.concat([ops.reshape(s, (1, *s.shape)) for s in states], 0)
        for states in zip(*layers, strict=True)
    ]


def split_states(states, count):
    """Returns the states (N, H) of each layer."""
    if count == 1:
        return [states]
    _, n, units = states[0].shape
    return [
        [ops.reshape(ops.slice(s, (i, 0, 0), (i + 1, n, units)), (n, units)) for s in states]
        for i in range(count)
    ]


def pack_weights(layer, parameters):
    """Returns the weight vector, with zeros for weights that we do not have."""
    row, at, units = [], 0, layer.cell.units
    for piece in layer.pieces:
        row.append(zeros(piece.offset - at, layer.cell.kind))
        value = parameters[piece.layer][piece.name]
        start, stop = piece.first * units, (piece.first + piece.count) * units
        if value.ndim == 1:
            row.append(ops.slice(value, (start,), (stop,)))
        else:
            columns = ops.slice(value, (0, start), (value.shape[0], stop))
            row.append(ops.reshape(ops.transpose(columns, (1, 0)), (-1,)))
        at = piece.offset + piece.size
    row.append(zeros(layer.weights - at, layer.cell.kind))
    return ops.concat([r for r in row if r.shape != (0,)], 0)


def unpack_gradients(layer, row):
    """Returns (gwx, gwh, gb) of each layer from the gradient of the weight vector."""
    units = layer.cell.units
    gradients = [{"wx": {}, "wh": {}, "b": {}} for _ in range(layer.cell.layers)]
    for piece in layer.pieces:
        value = ops.slice(row, (piece.offset,), (piece.offset + piece.size,))
        if piece.name != "b":
            value = ops.transpose(ops.reshape(value, (piece.count * units, -1)), (1, 0))
        gradients[piece.layer][piece.name][piece.first] = value
    return [[in_order(blocks) for blocks in one.values()] for one in gradients]


def in_order(blocks):
    values = [blocks[i] for i in sorted(blocks)]
    return ops.concat(values, -1) if len(values) > 1 else values[0]


def zeros(count, kind):
    return constant(np.zeros(count), kind)
