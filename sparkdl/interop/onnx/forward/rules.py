"""RULES: {operation: function of arrays that computes it}.

Parameters before `*` are inputs; those after it are attributes, whose values are known before
anything is computed. `opset`, `outputs` and `scope` are not attributes: they are the opset, the
node's number of outputs, and the values of the graphs around this one.
"""

from inspect import Parameter, signature

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward.activations import ACTIVATIONS
from sparkdl.interop.onnx.forward.casts import CASTS
from sparkdl.interop.onnx.forward.control import CONTROL
from sparkdl.interop.onnx.forward.convolutions import CONVOLUTIONS
from sparkdl.interop.onnx.forward.detection import DETECTION
from sparkdl.interop.onnx.forward.elementwise import ELEMENTWISE
from sparkdl.interop.onnx.forward.indexing import INDEXING
from sparkdl.interop.onnx.forward.losses import LOSSES
from sparkdl.interop.onnx.forward.ngrams import NGRAMS
from sparkdl.interop.onnx.forward.normalizations import NORMALIZATIONS
from sparkdl.interop.onnx.forward.pooling import POOLING
from sparkdl.interop.onnx.forward.products import PRODUCTS
from sparkdl.interop.onnx.forward.quantization import QUANTIZATION
from sparkdl.interop.onnx.forward.recurrence import RECURRENCE
from sparkdl.interop.onnx.forward.reductions import REDUCTIONS
from sparkdl.interop.onnx.forward.resampling import RESAMPLING
from sparkdl.interop.onnx.forward.sequences import SEQUENCES
from sparkdl.interop.onnx.forward.shapes import SHAPES
from sparkdl.interop.onnx.forward.signals import SIGNALS


def dropout(x, ratio=None, training_mode=None, *, seed=None):
    """Returns (x, a mask of ones), as in inference."""
    rate = 0.5 if ratio is None else float(np.reshape(ratio, ()))
    if training_mode is not None and np.reshape(training_mode, ()) and rate:
        raise UnsupportedError("a Dropout that draws numbers is not supported")
    return x, np.ones(x.shape, bool)


RULES = (
    ACTIVATIONS
    | CASTS
    | CONTROL
    | CONVOLUTIONS
    | DETECTION
    | ELEMENTWISE
    | INDEXING
    | LOSSES
    | NGRAMS
    | NORMALIZATIONS
    | POOLING
    | PRODUCTS
    | QUANTIZATION
    | RECURRENCE
    | REDUCTIONS
    | RESAMPLING
    | SEQUENCES
    | SHAPES
    | SIGNALS
    | {"Dropout": dropout}
)
GIVEN = {"opset", "outputs", "scope"}  # passed by the graph; not attributes
INPUTS = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)


def options_of(rule):
    """Returns (names of the attributes that a rule takes, whether it takes any name)."""
    if isinstance(rule, np.ufunc):
        return set(), False
    parameters = signature(rule).parameters.values()
    names = {p.name for p in parameters if p.kind not in INPUTS}
    return names, any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
