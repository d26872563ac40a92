"""What 16-bit floats can hold of a file's numbers, for networks that compute in them."""

from dataclasses import replace

import numpy as np

from sparkdl.engine.dtypes import is_narrow, lowest
from sparkdl.interop.constant_operands import HIDES
from sparkdl.interop.onnx.choice_translation import INFINITE
from sparkdl.interop.onnx.laid_shapes import FLOATS, place_of
from sparkdl.interop.onnx.plain_nodes import DECIDING
from sparkdl.nn import layers as nn
from sparkdl.nn.activations import Power

EXACT = 256  # bfloat16 has the whole numbers up to this one


class NarrowNumbers:
    """Checks the nodes of a file for a network that computes in 16-bit floats.

    Parameters
    ----------
    dtype : str
        Of the network. One of 32 bits or more holds all that the reader takes.
    counted : set of str
        Tensors of whole numbers, other than booleans. They are exact until a layer rounds them.
    inputs : set of str
        Of the network, whose numbers are exact as well.
    """

    def __init__(self, dtype, counted, inputs):
        self.dtype, self.narrow = dtype, is_narrow(dtype)
        self.counted, self.exact = counted, inputs
        self.limit = -lowest(dtype) if self.narrow else np.inf

    def fit(self, node, steps, place):
        """Returns the Steps of a node with numbers that the dtype has.

        Raises
        ------
        UnsupportedError
            If it would compute with rounded whole numbers, or with infinite constants.
        """
        if not self.narrow:
            return steps
        self.check_whole(node, steps, place)
        return [self.with_finite_numbers(node, step) for step in steps]

    def check_whole(self, node, steps, place):
        """Notes whether a node's output has whole numbers; refuses to round them."""
        keeps = all(step.layer.keeps_numbers for step in steps)
        looks_up = node.op == "Gather" and node.is_constant(0)
        counted = [name for name in node.inputs if name in self.counted]
        floats = all(place_of(node.shapes[name]).kind == FLOATS for name in counted)
        reads = bool(counted) and (node.op in DECIDING or not floats)
        whole = place.kind != FLOATS and node.op not in DECIDING | {"IsNaN"}
        reason = f"computing with whole numbers in {self.dtype}, which rounds them,"
        if node.op == "Cast" and whole and not reads:
            cuts = place_of(node.any_shape()).kind == FLOATS
            node.need(not cuts or node.inputs[0] in self.exact, reason)
            reads = cuts
        elif not looks_up:
            node.need(keeps or not (reads or (whole and not is_small(steps))), reason)
        if keeps and not self.exact.isdisjoint(node.inputs):
            self.exact.update(node.outputs)
        if keeps and (counted or reads):
            self.counted.update(node.outputs)

    def with_finite_numbers(self, node, step):
        """Returns a Step whose numbers are finite in the dtype.

        What stands for minus infinity becomes half of the lowest number, others that hide a quarter
        of it, so that a sum of two is finite, too.
        """
        function = getattr(step.layer, "function", None)
        if isinstance(function, Power):
            given = function.scale, function.shift
            opposite = given[0] == -given[1]  # of 1 and 0: a number, and exactly 0
            scale, shift = (float(self.finite(node, np.float32(v), opposite)) for v in given)
            step = replace(step, layer=nn.Activation(replace(function, scale=scale, shift=shift)))
        threshold = getattr(function, "threshold", 0.0)
        node.need(abs(threshold) <= self.limit, f"{threshold} in {self.dtype}")
        made = {name: self.finite(node, value) for name, value in step.weights.items()}
        return replace(step, weights=made)

    def finite(self, node, values, both=False):
        """Returns numbers in the dtype's range; with `both`, those that hide have either sign."""
        size = -np.abs(values) if both else values
        hides = (size <= HIDES) & (size < -self.limit)
        part = np.where(size <= INFINITE, np.float32(0.5), np.float32(0.25))
        found = np.where(hides, np.sign(values) * part * np.float32(self.limit), values)
        node.need((np.abs(found) <= self.limit).all(), f"numbers beyond {self.limit:.3g}")
        return found.astype(values.dtype)


def is_small(steps):
    """Returns whether Steps compute one whole number that 16-bit floats have."""
    functions = [getattr(step.layer, "function", None) for step in steps]
    return all(
        isinstance(one, Power) and one.scale == 0 and abs(one.shift) <= EXACT for one in functions
    )
