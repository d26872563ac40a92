"""Layers for recurrent operations, whose inputs are (steps, batch, features)."""

import numpy as np

from sparkdl.interop.onnx.laid_shapes import Place, place_of
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn

GATES = {"LSTM": (0, 2, 3, 1), "GRU": (0, 1, 2), "RNN": (0,)}  # ONNX's, in sparkdl's order
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
W, R, B, LENGTHS, H, C, P = range(1, 8)  # indices of the inputs


def recurrent(node):
    """Returns the layers of an LSTM, GRU or RNN with one used output: all steps or the last."""
    steps = length_of(node)
    direction = node.attributes.get("direction", "forward")
    count, units = DIRECTIONS[direction], node.attributes["hidden_size"]
    node.only(clip=None, input_forget=0, layout=0)
    node.need(not node.has(LENGTHS), "lengths of sequences")
    for state in (H, C):
        zero = not node.has(state) or is_zero(node, node.inputs[state])
        node.need(zero, "a first state other than zeros")
    whole = bool(node.outputs[0])
    node.need(not any(node.outputs[2:]), "the last cells as an output")
    need_shapes(node, count, units)
    layer = layer_of(node, direction, units, whole)
    weights = [weights_of(node, place, units) for place in range(count)]
    if count == 2:
        layer = nn.Bidirectional(layer=layer, mode="concat")
        named = zip(("forward", "backward"), weights, strict=True)
        weights = [{f"{way}_{name}": w for way, own in named for name, w in own.items()}]
    turn = [Step(layer=nn.ReverseTime())] if direction == "reverse" else []
    layers = [*turn, Step(layer=layer, weights=weights[0]), *(turn if whole else [])]
    shape = (steps, count, units) if whole else (count, units)
    place = Place(len(shape) - 1)
    if not all(node.outputs[:2]) or len(node.outputs) < 2:
        return [*layers, Step(layer=nn.Reshape(shape=shape), place=place)]
    first = Step(layer=nn.Reshape(shape=shape), place=place, output=0)
    return [*layers, first, *last_states(shape, direction)]


def last_states(shape, direction):
    """Returns the Steps that take the last states out of all states, found BEFORE."""
    steps, count, units = shape
    ends = {"forward": [-1], "reverse": [0], "bidirectional": [-1, 0]}[direction]
    found = []
    for way, end in enumerate(ends):
        start = end % steps
        found += [
            Step(layer=nn.Subset(start=start, stop=start + 1, axis=0), sources=(BEFORE - 2 * way,)),
            Step(layer=nn.Subset(start=way, stop=way + 1, axis=1)),
        ]
    if count == 2:
        found.append(Step(layer=nn.Merge(axis=1), sources=(BEFORE - 2, BEFORE)))
    return [*found, Step(layer=nn.Reshape(shape=(count, units)), place=Place(1), output=1)]


def is_zero(node, name):
    """Returns whether a tensor is constant zeros, of any size of the batch."""
    known = name in node.constants or name in node.of_batch
    arrays = node.of_batch.get(name) or [node.constants.get(name)]
    return known and not any(array.any() for array in arrays)


def length_of(node):
    """Returns the number of steps of a sequence with the batch on axis 1."""
    shape = node.laid_shape()
    place = place_of(shape)
    fits = len(shape) == 2 and place == Place(1)
    node.need(fits, f"an example of shape {tuple(shape)}, the batch along axis {place.index},")
    return shape[0]


def need_shapes(node, count, units):
    """Raises UnsupportedError unless weights have the shapes of `count` directions of `units`."""
    gates = len(GATES[node.op])
    of_x, sizes = node.constant(W).shape[2:3], {R: (gates * units, units)}
    sizes |= {W: (gates * units, *of_x), B: (2 * gates * units,), P: (3 * units,)}
    for index in filter(node.has, (W, R, B, P)):
        shape, fits = node.constant(index).shape, (count, *sizes[index])
        node.need(shape == fits, f"{node.inputs[index]} of shape {shape} in place of {fits}")


def layer_of(node, direction, units, whole):
    """Returns the layer of one direction."""
    options = {"units": units, "return_sequences": whole, "bias": node.has(B)}
    count = DIRECTIONS[direction]
    given = [name.decode().lower() for name in node.attributes.get("activations", [])]
    if node.op == "RNN":
        kind, *others = given or ["tanh"]
        node.need(set(others) <= {kind} and kind in ("tanh", "relu"), f"activations={given}")
        return nn.SimpleRnn(activation=kind, **options)
    own = len(given) // count
    gate, *rest = given[:own] or ["sigmoid"]
    same = given[own:] in ([], given[:own]) and set(rest) <= {"tanh"}
    node.need(same and gate in ("sigmoid", "hardsigmoid"), f"activations={given}")
    if gate == "hardsigmoid":
        slopes = set(node.attributes.get("activation_alpha", [0.2]))
        node.need(len(slopes) == 1, f"activation_alpha={slopes}")
        node.need(set(node.attributes.get("activation_beta", [0.5])) == {0.5}, "activation_beta")
        options["gate_activation"] = {"type": "hard_sigmoid", "slope": slopes.pop()}
    if node.op == "GRU":
        return nn.GRU(reset_after=bool(node.attributes.get("linear_before_reset", 0)), **options)
    return nn.GravesLSTM(**options) if node.has(P) else nn.LSTM(**options)


def weights_of(node, place, units):
    """Returns {sparkdl's name: array} of one direction."""
    order = GATES[node.op]

    def blocks(array):
        parts = array.reshape(-1, units, *array.shape[1:])
        return [parts[i] for i in order]

    weights = {
        "W": np.concatenate(blocks(node.constant(W)[place])).T,
        "RW": np.concatenate(blocks(node.constant(R)[place])).T,
    }
    if node.has(B):
        of_x, of_h = map(blocks, np.split(node.constant(B)[place], 2))
        weights["b"] = np.concatenate(bias(node, of_x, of_h))
    if node.has(P):
        weights["P"] = node.constant(P)[place].reshape(3, units)[[0, 2, 1]].reshape(-1)
    return weights


def bias(node, of_x, of_h):
    """Returns the parts of sparkdl's bias; linear_before_reset keeps both of the candidate."""
    if node.op == "GRU" and node.attributes.get("linear_before_reset", 0):
        return [*(x + h for x, h in zip(of_x[:2], of_h[:2], strict=True)), of_x[2], of_h[2]]
    return [x + h for x, h in zip(of_x, of_h, strict=True)]


RECURRENT_RULES = {"GRU": recurrent, "LSTM": recurrent, "RNN": recurrent}
