"""Evaluation of a graph's nodes as calls of rules."""

import numpy as np
from onnx import GraphProto

from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.onnx.forward.functions import FunctionRule, has_function
from sparkdl.interop.onnx.forward.rules import GIVEN, RULES, options_of
from sparkdl.interop.onnx.messages import array_of, attributes_of

WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError)


class Body:
    """A graph or subgraph.

    Parameters
    ----------
    graph : GraphProto
    path : str
        Path of the file, for errors.
    opset : int
    refused : list of str
        Gets a line for each node without a rule.
    """

    def __init__(self, graph, path, opset, refused):
        self.inputs = [value.name for value in graph.input]
        self.outputs = [value.name for value in graph.output]
        self.output_types = [value.type.tensor_type for value in graph.output]
        self.constants = {tensor.name: array_of(tensor, path) for tensor in graph.initializer}
        self.calls = []
        for proto in graph.node:
            try:
                self.calls.append(Call(proto, path, opset, refused))
            except UnsupportedError as error:
                refused.append(f"{proto.name or proto.output[0]} ({proto.op_type}): {error}")
        self.reads = self.mark_last_reads()

    def mark_last_reads(self):
        """Tells calls which values nobody reads after them; returns the names read from outside."""
        later = set(self.outputs)
        for call in reversed(self.calls):
            call.last = [name for name in {*call.reads, *call.outputs} if name not in later]
            later |= call.reads
        made = {name for call in self.calls for name in call.outputs}
        return later - made - self.constants.keys() - set(self.inputs)

    def run(self, scope, inputs):
        """Returns the outputs for inputs in order; `scope` has the outer values."""
        values = {**scope, **self.constants, **dict(zip(self.inputs, inputs, strict=True))}
        self.compute(values)
        return [values.get(name) for name in self.outputs]  # None: omitted by a function

    def compute(self, values):
        """Adds the values computed by the nodes to {tensor: value}."""
        for call in self.calls:
            call.compute(values)
            for name in call.last:
                values.pop(name, None)


class Call:
    """A node: its rule, and the names of its inputs and outputs."""

    def __init__(self, proto, path, opset, refused):
        self.proto, self.op, self.name = proto, proto.op_type, proto.name or proto.output[0]
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        while self.inputs and not self.inputs[-1]:
            self.inputs.pop()
        self.rule, self.opset = rule_of(proto, opset), opset
        self.attributes = {
            name: Body(value, path, opset, refused) if isinstance(value, GraphProto) else value
            for name, value in attributes_of(proto).items()
        }
        inner = [value for value in self.attributes.values() if isinstance(value, Body)]
        self.reads = {*self.inputs, *(name for body in inner for name in body.reads)} - {""}
        self.last = []
        names, any_name = options_of(self.rule)
        unknown = set() if any_name else self.attributes.keys() - names
        if unknown:
            raise UnsupportedError(f"{', '.join(sorted(unknown))} is not supported")
        self.given = names & GIVEN

    def compute(self, values):
        """Adds the outputs of the node to {tensor: value}."""
        found = self.results([values[name] if name else None for name in self.inputs], values)
        values |= zip(self.outputs, found, strict=False)

    def results(self, inputs, scope):
        """Returns the outputs for inputs in order; `scope` has the outer values."""
        known = {"opset": self.opset, "outputs": len(self.outputs), "scope": scope}
        options = self.attributes | {name: known[name] for name in self.given}
        try:
            found = self.rule(*inputs, **options)
        except UnsupportedError as error:
            raise UnsupportedError(f"{self.name} ({self.op}): {error}") from error
        except WRONG as error:
            shapes = [getattr(x, "shape", None) for x in inputs]
            raise ShapeError(
                f"{self.name} ({self.op}) cannot be computed of inputs of {shapes}: {error}"
            ) from error
        found = found if isinstance(found, tuple) else (found,)
        if len(found) < len(self.outputs):
            raise UnsupportedError(f"{self.name} ({self.op}): outputs {self.outputs[len(found) :]}")
        return [x if x is None or isinstance(x, list) else np.asarray(x) for x in found]


def rule_of(proto, opset):
    """Returns the function of arrays for a node."""
    if proto.domain not in ("", "ai.onnx"):
        raise UnsupportedError(f"the domain {proto.domain} is not supported")
    if proto.op_type in RULES:
        return RULES[proto.op_type]
    if has_function(proto.op_type, opset):
        return FunctionRule(proto, opset, Body)
    raise UnsupportedError("the operation is not supported")
