"""Programs of an ONNX graph, one for each set of input shapes."""

from collections import OrderedDict
from threading import Lock

import numpy as np

from sparkdl import engine
from sparkdl.engine.backends.base import AUTO
from sparkdl.engine.graph import Spec
from sparkdl.interop.onnx.compiled.numpy_op import KINDS
from sparkdl.interop.onnx.compiled.scales import fold_scales
from sparkdl.interop.onnx.compiled.tracing import Trace


class BodyPrograms:
    """Computes a body with programs of the engine, compiled for each new set of shapes.

    Parameters
    ----------
    body : Body
    most : int
        Number of programs to keep, the most recently used ones.
    """

    def __init__(self, body, most):
        self.body, self.most = body, most
        self.made, self.lock = OrderedDict(), Lock()

    def run(self, inputs):
        """Returns {output: value} for {input: value}; runs one thread at a time."""
        with self.lock, np.errstate(all="ignore"):
            specs = self.specs_of(inputs)
            if not self.most or specs is None:
                values = self.body.constants | inputs
                self.body.compute(values)
                return {name: values[name] for name in self.body.outputs}
            return self.program(specs).run(inputs)

    @staticmethod
    def specs_of(inputs):
        """Returns {input: Spec}, or None if an input is no array supported by the engine."""
        arrays = inputs.values()
        if not all(isinstance(x, np.ndarray) and x.dtype.name in KINDS for x in arrays):
            return None
        return {name: Spec(x.shape, x.dtype.name) for name, x in inputs.items()}

    def program(self, specs):
        key = tuple(specs.items())
        if key not in self.made:
            self.made[key] = BodyProgram(self.body, specs)
        self.made.move_to_end(key)
        while len(self.made) > self.most:
            self.made.popitem(last=False)
        return self.made[key]

    def describe(self):
        """Describes the cached programs, and the nodes that numpy computes after each."""
        return "\n\n".join(program.describe() for program in self.made.values())


class BodyProgram:
    """A body for inputs of given shapes: a program, and nodes that numpy computes after it."""

    def __init__(self, body, specs):
        trace = Trace(body, specs)
        self.outputs, self.known, self.late = body.outputs, trace.known, trace.late
        self.program = engine.compile(fold_scales(trace.graph), AUTO, constant_bindings=True)

    def run(self, inputs):
        given = {name: inputs[name] for name in self.program.inputs}
        found = self.program.run(given)
        values = self.known | {name: np.array(value, order="C") for name, value in found.items()}
        for call in self.late:
            call.compute(values)
        return {name: values[name] for name in self.outputs}

    def describe(self):
        late = [f"{call.name} ({call.op}): numpy, behind the program" for call in self.late]
        return "\n".join([self.program.describe(), *late])
