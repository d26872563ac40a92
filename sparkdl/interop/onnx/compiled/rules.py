"""COMPILED: for each ONNX operation, a function of tensors that adds engine operations.

At least one input is a Tensor, the others are arrays. All Tensors are of 32-bit floats, but for the
operations of ANY_TYPE. A function that raises UnsupportedError or ShapeError leaves the node to
numpy.
"""

from sparkdl.interop.onnx.compiled.arithmetic import ARITHMETIC
from sparkdl.interop.onnx.compiled.arrangements import ARRANGEMENTS
from sparkdl.interop.onnx.compiled.one_hot import LABELS
from sparkdl.interop.onnx.compiled.products import PRODUCTS
from sparkdl.interop.onnx.compiled.windows import WINDOWS

COMPILED = ARITHMETIC | ARRANGEMENTS | LABELS | PRODUCTS | WINDOWS
ANY_TYPE = ARRANGEMENTS.keys() | LABELS.keys()
