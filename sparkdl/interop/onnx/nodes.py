"""A node of an ONNX graph, with the constants and shapes of its inputs."""

from dataclasses import dataclass, field

import numpy as np

from sparkdl.interop.onnx.folding import SIZES
from sparkdl.interop.onnx.laid_shapes import FIRST, FLOATS, axes_of, place_of
from sparkdl.interop.translated_network import need


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
    of_batch : {tensor: list of arrays}
        Constants that depend on the size of the batch, for each of SIZES.
    shapes : {tensor: shape of one example}
        Of the tensors computed so far.
    bits : set of str
        Those among them that are booleans, or integers 0 and 1 made of booleans.
    readers : {tensor: set of operations that read it}
        OUTPUT is among those of the outputs of the graph.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    of_batch: dict = field(default_factory=dict)
    shapes: dict = field(default_factory=dict)
    bits: set = field(default_factory=set)
    readers: dict = field(default_factory=dict)

    def shape(self, index=0):
        """Returns the shape of one example of a computed input whose first axis is the batch."""
        shape = self.laid_shape(index)
        place = place_of(shape)
        self.need(place == FIRST, f"a batch along axis {place.index} of {tuple(shape)}")
        return shape

    def laid_shape(self, index=0):
        """Returns the shape of one example, a LaidShape if the batch is elsewhere; no integers."""
        shape = self.any_shape(index)
        self.need(place_of(shape).kind == FLOATS, "computing with integers")
        return shape

    def any_shape(self, index=0):
        """Returns the shape of one example of a computed input, also of integers."""
        self.need(self.has(index), f"input {index} missing")
        self.need(self.is_computed(index), f"input {index} constant")
        return self.shapes[self.inputs[index]]

    def axis(self, axis, index=0):
        """Returns the axis of an example for an axis of the file's tensor."""
        axes = axes_of(self.any_shape(index))
        self.need(-len(axes) <= axis < len(axes), f"axis {axis} of {len(axes)}")
        self.need(None not in axes[axis], f"axis {axis}, the batch,")
        return axes[axis][0]

    def constant(self, index):
        """Returns an input that must be a constant of 32-bit floats."""
        self.need(self.is_constant(index), f"input {index} not a constant")
        value = self.constants[self.inputs[index]]
        self.need(value.dtype == np.float32, f"input {index} of type {value.dtype}")
        return value

    def lengths(self, index):
        """Returns a constant input of integers as pairs (number, whether it is times the batch)."""
        if self.is_constant(index):
            arrays = [self.constants[self.inputs[index]]] * len(SIZES)
        else:
            self.need(self.has(index), f"input {index} missing")
            self.need(self.inputs[index] in self.of_batch, f"input {index} not a constant")
            arrays = self.of_batch[self.inputs[index]]
        self.need(arrays[0].dtype.kind == "i", f"input {index} of type {arrays[0].dtype}")
        alike = all(array.shape == arrays[0].shape for array in arrays)
        self.need(alike, "computing with the size of the batch")
        return [self.length(one) for one in np.stack([a.reshape(-1) for a in arrays], -1).tolist()]

    def length(self, numbers):
        """Returns (number, whether it is times the batch) of a number for each of SIZES."""
        if len(set(numbers)) == 1:
            return numbers[0], False
        factor = numbers[0] // SIZES[0]
        linear = numbers == [factor * size for size in SIZES]
        self.need(linear, "computing with the size of the batch")
        return factor, True

    def need_inputs(self):
        """Raises UnsupportedError if an input was refused, since its shape is missing."""
        known = self.shapes.keys() | self.constants.keys() | self.of_batch.keys() | {""}
        missing = [name for name in self.inputs if name not in known]
        self.need(not missing, f"reading {missing}, which were refused,")

    def has(self, index):
        return index < len(self.inputs) and self.inputs[index] != ""

    def is_constant(self, index):
        return self.has(index) and self.inputs[index] in self.constants

    def is_computed(self, index):
        return self.has(index) and self.inputs[index] in self.shapes

    def only(self, **values):
        """Raises UnsupportedError for attributes that are present with another value."""
        for name, value in values.items():
            given = self.attributes.get(name, value)
            self.need(given == value, f"{name}={given}")

    need = staticmethod(need)
