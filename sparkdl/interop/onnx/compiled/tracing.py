"""Tracing of an ONNX graph into a graph of the engine, for inputs of given shapes."""

import numpy as np

from sparkdl.engine.graph import Graph, Tensor
from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.onnx.compiled.numpy_op import numpy_node
from sparkdl.interop.onnx.compiled.rules import ANY_TYPE, COMPILED
from sparkdl.interop.onnx.forward.body import WRONG
from sparkdl.interop.onnx.forward.shapes import need_room, shape_of


class Trace:
    """Traces the computation of a body for tensors of given shapes.

    Values that only depend on shapes and constants are computed here. Nodes whose output shapes
    depend on data, and their readers, are left to numpy after the program.

    Parameters
    ----------
    body : Body
    specs : {input: Spec}

    Attributes
    ----------
    known : {tensor: array}
        Values that the program does not compute.
    late : list of Call
        Calls to be computed after it, in order.
    graph : Graph
        Its outputs are the tensors that are read outside.
    """

    def __init__(self, body, specs):
        self.inputs = {name: Tensor(spec, name=name) for name, spec in specs.items()}
        self.values = body.constants | self.inputs
        self.late, self.open = [], set()
        for call in body.calls:
            self.add(call)
        wanted = {*body.outputs, *(name for call in self.late for name in call.reads)} - {""}
        self.known = {
            name: value
            for name, value in self.values.items()
            if name in wanted and not isinstance(value, Tensor)
        }
        outputs = {name: value for name, value in self.values.items() if name in wanted}
        self.graph = Graph(
            self.inputs,
            {name: value for name, value in outputs.items() if isinstance(value, Tensor)},
        )

    def add(self, call):
        """Adds the outputs of a node, or defers the node."""
        try:
            if not self.open.isdisjoint(call.reads):
                raise UnsupportedError("it reads what is computed later")
            self.compute(call)
        except UnsupportedError:
            self.late.append(call)
            self.open.update(call.outputs)

    def compute(self, call):
        if not any(isinstance(self.values[name], Tensor) for name in call.reads):
            call.compute(self.values)
            return
        if not call.reads <= set(call.inputs):
            raise UnsupportedError("a graph in it reads tensors")
        inputs = [self.values[name] if name else None for name in call.inputs]
        known = self.constant_of(call, inputs)
        made = compiled(call, inputs) if known is None else known
        values = numpy_node(call, inputs) if made is None else {call.outputs[0]: made}
        for value in values.values():
            need_room(value.shape)
        self.values |= values

    @staticmethod
    def constant_of(call, inputs):
        """Returns the output of a node that only depends on a shape, else None."""
        if call.op == "Shape":
            return shape_of(inputs[0], **call.attributes)
        if call.op == "Size":
            return np.array(np.prod(inputs[0].shape, dtype=np.int64))
        return None


def compiled(call, inputs):
    """Returns the tensor computed by engine operations, or None if numpy must compute it."""
    rule = COMPILED.get(call.op)
    plain = all(x.dtype == np.float32 for x in inputs if isinstance(x, Tensor))
    if rule is None or not (plain or call.op in ANY_TYPE) or any(call.outputs[1:]):
        return None
    try:
        return rule(*inputs, **call.attributes)
    except (*WRONG, ShapeError, UnsupportedError):
        return None  # numpy reports errors in it, if any
