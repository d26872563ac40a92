"""ONNX node computed by numpy within a program of the engine."""

from dataclasses import dataclass, replace

import numpy as np
from onnx import TypeProto, checker, defs, helper, numpy_helper, shape_inference

from sparkdl.engine.graph import Spec, Tensor
from sparkdl.engine.ops.base import Op
from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward.indexing import slice_axes
from sparkdl.interop.onnx.forward.windows import Windows

WRONG = (
    shape_inference.InferenceError,
    checker.ValidationError,
    IndexError,
    RuntimeError,
    ValueError,
    TypeError,
)
KINDS = {
    *("float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
}
FEW = 64  # size of constants on which shapes may depend


@dataclass(frozen=True, eq=False)
class NumpyOp(Op):
    """A rule of `forward`, whose result shapes are known in advance.

    Parameters
    ----------
    call : Call
    operands : tuple
        For each input of the node an array, None if omitted, or the index of the tensor.
    places : tuple of int
        Indices of the node's outputs that are used.
    specs : tuple of Spec
        Specs of these outputs.
    """

    call: object
    operands: tuple
    places: tuple
    specs: tuple

    @property
    def label(self):
        return self.call.op

    def shape(self, *inputs):
        return self.specs

    def reference(self, *arrays):
        given = [arrays[x] if isinstance(x, int) else x for x in self.operands]
        found = self.call.results(given, {})
        results = tuple(found[place] for place in self.places)
        if any(map(differs, results, self.specs)):
            raise UnsupportedError(
                f"{self.call.name} ({self.call.op}) has other results than usual"
            )
        return results


def differs(result, spec):
    return result is None or (result.shape, result.dtype.name) != (spec.shape, spec.dtype)


def numpy_node(call, inputs):
    """Returns {output: Tensor} for a node.

    Parameters
    ----------
    call : Call
    inputs : list of Tensor, array or None

    Raises
    ------
    UnsupportedError
        If the output shapes do not follow from the input shapes.
    """
    specs = specs_of(call, inputs)
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    numbers = iter(range(len(tensors)))
    operands = tuple(next(numbers) if isinstance(x, Tensor) else x for x in inputs)
    places = [place for place, name in enumerate(call.outputs) if name]
    made = NumpyOp(call, operands, tuple(places), specs)(*tensors)
    return dict(zip(filter(None, call.outputs), made, strict=True))


def shape_of_windows(x, *, kernel_shape, strides=None, dilations=None, pads=None, **options):
    """Returns the shape after pooling; onnx also counts windows that begin in the padding."""
    ends = options.get("auto_pad", "NOTSET"), options.get("ceil_mode", 0)
    windows = Windows.over(x.shape[2:], kernel_shape, strides, dilations, pads, *ends)
    return (*x.shape[:2], *windows.counts)


def shape_of_prelu(x, slope):
    """Returns the broadcast shape; onnx's inference ignores extra axes of the slopes."""
    return np.broadcast_shapes(x.shape, slope.shape)


def shape_of_slice(x, *given):
    """Returns the shape of a Slice; onnx finds no numbers where it goes backwards to the end."""
    if any(isinstance(each, Tensor) for each in given):
        raise ValueError("indices that depend on values")
    return slice_axes(np.broadcast_to(np.float32(0), x.shape), *given).shape


SHAPES = {
    "AveragePool": shape_of_windows,
    "LpPool": shape_of_windows,
    "MaxPool": shape_of_windows,
    "PRelu": shape_of_prelu,
    "Slice": shape_of_slice,
}


def specs_of(call, inputs):
    """Returns the Spec of each output, from onnx's shape inference.

    SHAPES has the operations for which the package infers wrong shapes.
    """
    check_axis(call, inputs)
    types, data = {}, {}
    for name, x in zip(call.inputs, inputs, strict=True):
        if x is not None:
            types[name] = type_of(name, x)
            if isinstance(x, np.ndarray) and x.size <= FEW:
                data[name] = numpy_helper.from_array(x, name)
    opsets = [helper.make_opsetid("", call.opset)]
    try:
        schema = defs.get_schema(call.op, call.opset, "")
        found = shape_inference.infer_node_outputs(schema, call.proto, types, data, {}, opsets)
        shape = SHAPES[call.op](*inputs, **call.attributes) if call.op in SHAPES else None
    except WRONG as error:
        raise UnsupportedError(f"the shapes of {call.op} are not known: {error}") from error
    specs = tuple(spec_of(name, found.get(name)) for name in call.outputs if name)
    return specs if shape is None else tuple(replace(spec, shape=shape) for spec in specs)


def check_axis(call, inputs):
    """Raises UnsupportedError for an axis that the inputs lack.

    onnx's shape inference of LayerNormalization would write past the end of the shape, which ends
    the process.
    """
    axis, most = call.attributes.get("axis", 0), max(x.ndim for x in inputs if x is not None)
    if not -most - 1 <= axis <= most:
        raise UnsupportedError(f"the axis {axis} of inputs of up to {most} axes")


def type_of(name, x):
    if not isinstance(x, Tensor | np.ndarray) or x.dtype.name not in KINDS:
        raise UnsupportedError(f"{name} is no array of numbers of a usual type")
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


def spec_of(name, kind):
    """Returns the Spec of a TypeProto with known axes."""
    if not isinstance(kind, TypeProto) or not kind.tensor_type.HasField("shape"):
        raise UnsupportedError(f"the shape of {name} is not known")
    axes = kind.tensor_type.shape.dim
    dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type).name
    if not all(axis.HasField("dim_value") for axis in axes) or dtype not in KINDS:
        raise UnsupportedError(f"the shape of {name} follows from numbers, or it is of {dtype}")
    if any(axis.dim_value < 0 for axis in axes):  # of a node that does not fit its inputs
        raise UnsupportedError(f"the shape of {name} has a negative length")
    return Spec(tuple(axis.dim_value for axis in axes), dtype)
