"""Constant folding of ONNX graphs.

Shapes are constants, too. What depends on the size of the batch is computed for each of SIZES, so
that a later node can tell which lengths are the batch's.
"""

from math import prod

import numpy as np
from onnx import TensorProto

from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.onnx.forward.body import Call
from sparkdl.interop.onnx.laid_shapes import lengths_of
from sparkdl.interop.onnx.messages import array_of

SIZES = (1, 2, 3, 7)  # sizes of batches
OUTPUT = "an output"  # among the readers of a tensor
ALL = 2**31 - 1  # ends of slices from this on are the end of the axis
MOST = 2**26  # largest size of a computed constant
MOVING = {
    *("Cast", "Concat", "ConstantOfShape", "Expand", "Gather", "GatherElements", "GatherND"),
    *("Identity", "Range", "Reshape", "Shape", "Slice", "Split", "Squeeze", "Tile", "Transpose"),
    "Unsqueeze",
}
SELECTING = {"Gather", "Slice"}  # by numbers that must not depend on the size of the batch
LINEAR = {"Add", "Div", "Mul", "Neg", "ReduceProd", "Sub", "Where"}
COMPARING = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min"}
LOGICAL = {"And", "Not", "Or", "Xor"}
OF_BATCH = MOVING | LINEAR | COMPARING | LOGICAL  # computed with the size of the batch
BROADCASTING = (LINEAR | COMPARING | LOGICAL | {"Pow", "Mod"}) - {"Neg", "Not", "ReduceProd"}
FOLDED = (
    OF_BATCH
    | BROADCASTING
    | {"Abs", "Ceil", "Cos", "CumSum", "Einsum", "Exp", "Flatten", "Floor", "Log", "MatMul", "Pad"}
    | {"Reciprocal", "ReduceMax", "ReduceSum", "ScatterND", "Sin", "Size", "Sqrt", "Trilu"}
)


class Constants(dict):
    """{tensor: array} of tensors that do not depend on the inputs.

    `of_batch` has those that depend on the size of the batch, as an array for each of SIZES.

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
        self.path, self.opset, self.of_batch, self.origins = path, opset, {}, {}
        self.readers = {value.name: {OUTPUT} for value in graph.output}
        for proto in graph.node:
            for name in proto.input:
                self.readers.setdefault(name, set()).add(proto.op_type)

    def origins_of(self, *names):
        """Returns the names of the file's constants from which these are computed."""
        return {origin for name in names for origin in self.origins.get(name, {name})}

    def is_trained(self, name):
        """Returns whether a tensor is constant floats, other than one number throughout."""
        array = self.of_batch[name][0] if name in self.of_batch else self.get(name)
        floats = array is not None and array.dtype.kind == "f" and array.size > 1
        return floats and bool((array != array.flat[0]).any())

    def take(self, node, proto):
        """Adds the outputs of a constant node; returns whether it is constant."""
        if node.op == "Constant":
            self.add_value(node)
        elif node.op == "Shape" and node.inputs[0] in node.shapes:
            self.add_shape(node)
        else:
            return self.fold(node, proto)
        return True

    def add_value(self, node):
        """Adds the array of a Constant node."""
        value = node.attributes.get("value")
        for kind, dtype in {"int": np.int64, "float": np.float32}.items():
            for name in (f"value_{kind}", f"value_{kind}s"):
                if name in node.attributes:
                    self[node.outputs[0]] = np.asarray(node.attributes[name], dtype)
                    return
        node.need(isinstance(value, TensorProto), f"a constant of {list(node.attributes)}")
        self[node.outputs[0]] = array_of(value, self.path)

    def add_shape(self, node):
        """Adds the output of a Shape of a computed tensor."""
        shape = node.shapes[node.inputs[0]]
        part = slice(node.attributes.get("start", 0), node.attributes.get("end"))
        self.add(node.outputs[0], [np.array(lengths_of(shape, n)[part], np.int64) for n in SIZES])

    def add(self, name, arrays):
        """Adds a tensor that has an array for each of SIZES."""
        first = arrays[0]
        if all(np.array_equal(first, array) for array in arrays):
            self[name] = first
        else:
            self.of_batch[name] = arrays

    def fold(self, node, proto):
        """Adds the outputs of a node that reads only constants; returns whether it does."""
        given = [name for name in node.inputs if name]
        known = all(name in self or name in self.of_batch for name in given)
        if not given or node.op not in FOLDED or not known:
            return False
        if self.of_batch.keys().isdisjoint(given):
            values = self.computed(node, proto, {name: self[name] for name in given})
            self.update({name: values[name] for name in filter(None, node.outputs)})
        else:
            self.fold_sizes(node, proto, given)
        for name in filter(None, node.outputs):
            self.origins[name] = self.origins_of(*given)
        return True

    def fold_sizes(self, node, proto, given):
        """Adds the outputs of a node that depends on the size of the batch."""
        found = []
        for place in range(len(SIZES)):
            values = {n: self.of_batch[n][place] if n in self.of_batch else self[n] for n in given}
            found.append(self.computed(node, proto, values))
        node.need(self.holds_for_all(node, found), "computing with the size of the batch")
        for name in filter(None, node.outputs):
            self.add(name, [values[name] for values in found])

    def holds_for_all(self, node, found):
        """Returns whether what holds for SIZES holds for batches of any size.

        Quotients and integers from floats must be exact, and indices constant. Numbers are
        compared if one is the larger in batches of any size, or if only the shape of the answer is
        read.
        """
        if self.cuts_batch(node):
            return False
        given = [self.of_batch[name] for name in node.inputs if name in self.of_batch]
        if node.op != "Div" and all(take_example(arrays) is not None for arrays in given):
            return True
        x, *others = ([values[name] for values in found] for name in node.inputs if name)
        y = [values[node.outputs[0]] for values in found]
        if node.op == "Div":
            exact = all(np.array_equal(q * d, n) for q, d, n in zip(y, others[0], x, strict=True))
            return exact and line_of(y) is not None
        if node.op in SELECTING:
            return self.of_batch.keys().isdisjoint(node.inputs[1:])
        if node.op == "Cast":
            return y[0].dtype.kind == "f" or all(map(np.array_equal, x, y))
        if node.op in COMPARING and self.readers.get(node.outputs[0]) != {"Shape"}:
            return len(others) == 1 and has_one_sign(x, others[0])
        return node.op in OF_BATCH

    def cuts_batch(self, node):
        """Returns whether a node takes another part of the batch where that is larger.

        It may be the first example or all of them, however many.
        """
        first, *others = node.inputs
        shapes = [array.shape for array in self.of_batch.get(first, [])]
        long = {i for i, lengths in enumerate(zip(*shapes, strict=False)) if len({*lengths}) > 1}
        if not long:
            return False
        if node.op == "Trilu":
            return not long.isdisjoint(range(len(shapes[0]) - 2, len(shapes[0])))
        if node.op != "Slice" or not all(name in self for name in filter(None, others)):
            return False
        starts, ends = (self[name].tolist() for name in others[:2])
        axes, steps = (self[name].tolist() if name else None for name in (*others[2:], "", "")[:2])
        parts = zip(starts, ends, steps or [1] * len(starts), strict=True)
        known = {(0, 1, 1), (0, ALL, 1)}
        taken = {
            axis % len(shapes[0]): (start, min(end, ALL), step)
            for axis, (start, end, step) in zip(axes or range(len(starts)), parts, strict=True)
        }
        return any(taken.get(axis, (0, ALL, 1)) not in known for axis in long)

    def computed(self, node, proto, values):
        """Returns {tensor: array} of a node's inputs and outputs."""
        arrays = [values[name] for name in node.inputs if name]
        node.need(size_of(node, arrays) <= MOST, f"a constant of more than {MOST} numbers")
        values = dict(values)
        fold(proto, values, self.opset)
        return values


def has_one_sign(x, y):
    """Returns whether the sign of x - y, arrays for SIZES, is the same for batches of any size."""
    if any(array.dtype.kind == "b" for array in (*x, *y)):
        return line_of(x) is not None and line_of(y) is not None
    line = line_of([np.subtract(*pair, dtype=np.float64) for pair in zip(x, y, strict=True)])
    return line is not None and bool((line[0] * line[1] >= 0).all())


def line_of(arrays):
    """Returns (a, b) of arrays for SIZES that are a n + b for the size n; None if they are not."""
    if any(array.shape != arrays[0].shape for array in arrays):
        return None
    wide = [array.astype(np.float64) for array in arrays]
    a = (wide[1] - wide[0]) / (SIZES[1] - SIZES[0])
    b = wide[0] - a * SIZES[0]
    alike = all(np.allclose(array, a * n + b) for array, n in zip(wide, SIZES, strict=True))
    return (a, b) if alike else None


def take_example(arrays):
    """Returns what arrays for SIZES have for each example, 1 along its axis; None if it differs."""
    axis = length_axis(arrays)
    if axis is None:
        return None
    first, sizes = arrays[0].take([0], axis), [array.shape[axis] for array in arrays]
    linear = sizes == [size * sizes[0] for size in SIZES]
    return first if linear and all((array == first).all() for array in arrays) else None


def length_axis(arrays):
    """Returns the only axis whose length differs between arrays for SIZES, else None."""
    shapes = [array.shape for array in arrays]
    if len({len(shape) for shape in shapes}) > 1:
        return None
    long = [axis for axis, lengths in enumerate(zip(*shapes, strict=True)) if len({*lengths}) > 1]
    return long[0] if len(long) == 1 else None


def size_of(node, arrays):
    """Returns an upper bound on the size of a node's output, before it is computed."""
    if node.op in BROADCASTING:
        return prod(np.broadcast_shapes(*(array.shape for array in arrays)))
    if node.op == "ConstantOfShape":
        return prod(arrays[0].tolist())
    if node.op == "Expand":
        return prod(np.broadcast_shapes(arrays[0].shape, tuple(arrays[1].tolist())))
    if node.op == "Tile":
        return arrays[0].size * prod(arrays[1].tolist())
    if node.op == "MatMul":
        return size_of_product(*(array.shape for array in arrays))
    if node.op == "Einsum":
        return size_of_sum(node.attributes["equation"], arrays)
    if node.op == "Range":
        start, limit, delta = (float(array.reshape(())) for array in arrays)
        return (limit - start) / delta if delta else 0
    if node.op == "Gather":
        table, indices = arrays
        length = table.shape[node.attributes.get("axis", 0)]
        return table.size // max(length, 1) * indices.size
    return sum(array.size for array in arrays)


def size_of_product(x, y):
    """Returns the size of the matrix product of arrays of these shapes."""
    return prod((*np.broadcast_shapes(x[:-2], y[:-2]), *x[:-1][-1:], *(y[-1:] if y[1:] else ())))


def size_of_sum(equation, arrays):
    """Returns the number of products that an Einsum adds."""
    parts = equation.replace(" ", "").partition("->")[0].split(",")
    if any(len(part) != array.ndim for part, array in zip(parts, arrays, strict=True)):
        return prod(array.size for array in arrays)
    pairs = zip(parts, arrays, strict=True)
    return prod(
        {label: n for part, a in pairs for label, n in zip(part, a.shape, strict=True)}.values()
    )


def fold(proto, values, opset):
    """Computes a node on constants.

    Parameters
    ----------
    proto : NodeProto
    values : {tensor: array}
        Gets the outputs.
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
