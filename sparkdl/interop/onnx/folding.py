"""Constant folding of ONNX graphs.

Shapes are constants, too, except for the batch size, represented by BATCH: nodes may move it, but
not compute with it.
"""

from math import prod

import numpy as np
from onnx import TensorProto

from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.onnx.forward.body import Call
from sparkdl.interop.onnx.laid_shapes import CUT, WHOLE, batch_of
from sparkdl.interop.onnx.messages import array_of

BATCH = -1  # batch size in a constant Shape
MOST = 2**26  # largest size of a computed constant
KEEPING = {"Cast", "Concat", "Gather", "Identity", "Slice", "Squeeze", "Unsqueeze"}
BROADCASTING = {
    *("Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max"),
    *("Min", "Mul", "Or", "Pow", "Sub", "Where", "Xor"),
}
FOLDED = (
    KEEPING
    | BROADCASTING
    | {"Exp", "Flatten", "Log", "Neg", "Not", "Reciprocal", "Reshape", "Sqrt", "Transpose", "Trilu"}
)


class Constants(dict):
    """{tensor: array} of tensors that do not depend on the inputs; `open` names those with BATCH.

    Parameters
    ----------
    graph : GraphProto
        Its initializers are the first constants.
    path : str
        Path of the file, for errors.
    opset : int
        Opset of the graph.
    """

    def __init__(self, graph, path, opset):
        super().__init__({tensor.name: array_of(tensor, path) for tensor in graph.initializer})
        self.path, self.opset, self.open, self.origins = path, opset, set(), {}

    def origins_of(self, *names):
        """Returns the names of the file's constants from which these are computed."""
        return {origin for name in names for origin in self.origins.get(name, {name})}

    def take(self, node, proto):
        """Adds the output of a constant node; returns whether it is constant."""
        if node.op == "Constant":
            self.add_value(node)
        elif node.op == "Expand" and node.is_constant(0) and node.is_constant(1):
            self.expand(node)
        elif node.op == "Shape" and not node.is_constant(0):
            self.add_shape(node)
        else:
            return self.fold(node, proto)
        return True

    def add_value(self, node):
        """Adds the array of a Constant node."""
        value = node.attributes.get("value")
        node.need(isinstance(value, TensorProto), f"a constant of {list(node.attributes)}")
        self[node.outputs[0]] = array_of(value, self.path)

    def add_shape(self, node):
        """Adds the output of a Shape of a computed tensor."""
        node.need_inputs()
        node.only(start=0)
        node.need("end" not in node.attributes, "end")
        shape = node.any_shape()
        node.need(batch_of(shape) in (0, CUT, WHOLE), f"a batch along axis {batch_of(shape)}")
        self[node.outputs[0]] = np.array([BATCH, *shape])
        self.open.add(node.outputs[0])

    def expand(self, node):
        """Adds an expanded constant; along the batch it is not repeated, as it broadcasts."""
        value, lengths = (self[name] for name in node.inputs)
        is_open = node.inputs[1] in self.open
        padded = (1,) * (len(lengths) - value.ndim) + value.shape
        each = is_open and lengths[0] == BATCH and padded[0] == 1 and BATCH not in lengths[1:]
        node.need(each or not is_open, f"the shape {lengths.tolist()}")
        lengths = [1, *lengths[1:]] if is_open else lengths.tolist()
        shape = np.broadcast_shapes(value.shape, tuple(lengths))
        node.need(prod(shape) <= MOST, f"a constant of more than {MOST} numbers")
        self[node.outputs[0]] = np.broadcast_to(value, shape)
        self.origins[node.outputs[0]] = self.origins_of(node.inputs[0])

    def fold(self, node, proto):
        """Adds the output of a node that reads only constants; returns whether it does."""
        given = [name for name in node.inputs if name]
        if not given or node.op not in FOLDED or any(name not in self for name in given):
            return False
        is_open = not self.open.isdisjoint(given)
        node.need(node.op in KEEPING or not is_open, "computing with the size of the batch")
        arrays = [self[name] for name in given]
        node.need(size_of(node, arrays) <= MOST, f"a constant of more than {MOST} numbers")
        value = fold(proto, dict(zip(given, arrays, strict=True)), self.opset)
        self[node.outputs[0]] = value
        self.origins[node.outputs[0]] = self.origins_of(*given)
        if is_open and may_hold_batch(value):
            self.open.add(node.outputs[0])
        return True


def may_hold_batch(value):
    """Returns whether BATCH may be among numbers that were moved, or cast."""
    return value.dtype.kind not in "if" or bool((value == BATCH).any())


def size_of(node, arrays):
    """Returns an upper bound on the size of a node's output, before it is computed."""
    if node.op in BROADCASTING:
        return prod(np.broadcast_shapes(*(array.shape for array in arrays)))
    if node.op == "Gather":
        table, indices = arrays
        length = table.shape[node.attributes.get("axis", 0)]
        return table.size // max(length, 1) * indices.size
    return sum(array.size for array in arrays)


def fold(proto, values, opset):
    """Computes a node on constants.

    Parameters
    ----------
    proto : NodeProto
    values : {tensor: array}
    opset : int
        Of the graph.

    Raises
    ------
    UnsupportedError
        If the values do not fit the node.
    """
    try:
        with np.errstate(all="ignore"):
            Call(proto, proto.name, opset, []).compute(values)
    except (ShapeError, UnsupportedError) as error:
        raise UnsupportedError(f"{proto.op_type} of such constants: {error}") from error
    return values[proto.output[0]]
