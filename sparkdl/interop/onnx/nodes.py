"""A node of an ONNX graph, with the constants and shapes of its inputs."""

from dataclasses import dataclass, field

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.laid_shapes import CUT, WHOLE, batch_of


@dataclass(frozen=True, kw_only=True)
class OnnxNode:
    """One operation of a graph.

    Parameters
    ----------
    op : str
    inputs, outputs : tuple of str
        Names of tensors; "" for an omitted input or an unused output.
    attributes : {name: value}
    constants : {tensor: array}
        Of the whole graph.
    shapes : {tensor: shape of one example}
        Of the tensors computed so far.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    shapes: dict = field(default_factory=dict)

    def shape(self, index=0):
        """Returns the shape of one example of a computed input whose first axis is the batch."""
        shape = self.laid_shape(index)
        self.need(batch_of(shape) == 0, f"a batch along axis {batch_of(shape)}")
        return shape

    def laid_shape(self, index=0):
        """Returns the shape of one example, a LaidShape if the batch is elsewhere; no integers."""
        shape = self.any_shape(index)
        self.need(batch_of(shape) not in (CUT, WHOLE), "computing with integers")
        return shape

    def any_shape(self, index=0):
        """Returns the shape of one example of a computed input, also of integers."""
        self.need(self.has(index), f"input {index} missing")
        self.need(not self.is_constant(index), f"input {index} constant")
        return self.shapes[self.inputs[index]]

    def constant(self, index):
        """Returns an input that must be a constant of 32-bit floats."""
        self.need(self.is_constant(index), f"input {index} not a constant")
        value = self.constants[self.inputs[index]]
        self.need(value.dtype == np.float32, f"input {index} of type {value.dtype}")
        return value

    def need_inputs(self):
        """Raises UnsupportedError if an input was refused, since its shape is missing."""
        known = self.shapes.keys() | self.constants.keys() | {""}
        missing = [name for name in self.inputs if name not in known]
        self.need(not missing, f"reading {missing}, which were refused,")

    def has(self, index):
        return index < len(self.inputs) and self.inputs[index] != ""

    def is_constant(self, index):
        return self.has(index) and self.inputs[index] in self.constants

    def only(self, **values):
        """Raises UnsupportedError for attributes that are present with another value."""
        for name, value in values.items():
            given = self.attributes.get(name, value)
            self.need(given == value, f"{name}={given}")

    def need(self, holds, what):
        """Raises UnsupportedError with `what` as its reason unless `holds`."""
        if not holds:
            raise UnsupportedError(f"{what} is not supported")
