"""A backend that evaluates graphs in float64 and can inject random rounding errors of a given size.

Each result of an operation is multiplied by 1 + d, with d random within half a unit in the last
place of its type in the graph, as if it had been rounded to that type. Without errors it is the
oracle; the spread over a few runs with errors measures how accurately float32 or bfloat16 can
compute each number, including sums of terms that cancel.

References
----------
Parker, Monte Carlo arithmetic (1997).
"""

from contextlib import contextmanager
from math import prod

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.backends import base
from sparkdl.engine.backends.memory import FlatVector
from sparkdl.engine.dtypes import computing_dtype, is_float
from sparkdl.engine.graph import Spec, Tensor, topological
from sparkdl.errors import ShapeError

NAME = "rounding"
# Adding n terms one by one can be off by n / 2 roundings of the sum, for example if padding makes
# many terms equal: Higham, Accuracy and stability (2002), 4.2. Sums longer than SHORT are allowed
# n / SHORT times the errors of short ones.
SHORT = 64
TINY = 1e-6  # smaller constants guard against division by 0
MODERATE = 1e15  # below it products and sums are finite in float32
UNIT = {"bfloat16": 2.0**-9, "float16": 2.0**-12, "float32": 2.0**-24, "float64": 0.0}
# Results that equal an input or are integers: nothing to round.
EXACT = {
    *("Reshape", "Transpose", "BroadcastTo", "Slice", "Pad", "Concat", "Copy", "StopGradient"),
    *("SequenceToImage", "ImageToSequence", "ReverseTime", "Unfold", "Gather", "OneHot"),
    *("Relu", "ReluGrad", "Max", "Equal", "Maximum", "Minimum", "Greater", "Where", "Neg", "Abs"),
    *("Sign", "MaxPool", "MaxPoolPick", "Uniform", "Cast"),
}
# Results of many terms: errors are relative to the terms, not to the result after cancellation.
SUMS = {
    *("MatMul", "AddBias", "Conv", "ConvGradInput", "ConvGradWeight", "Sum", "SumTo", "Fold"),
    *("AvgPool", "AvgPoolGrad", "ScatterAdd", "HeadScores", "HeadMix"),
    *(
        "Resize",
        "ResizeGrad",
        "Softmax",
        "LogSoftmax",
        "SoftmaxGrad",
        "LogSoftmaxGrad",
        "SoftmaxCrossEntropy",
    ),
    *("Lstm", "Gru", "SimpleRnn", "RecurrentGrad"),
}

# Kernels with more than one rounding error, and how many to allow. Recurrent layers round at each
# step and gate.
COARSE = dict.fromkeys(("Lstm", "Gru", "SimpleRnn", "RecurrentGrad"), 4.0)
# Kernels composed of several operations: their internal statistics are rounded as well.
DECOMPOSED = {
    *("BatchNorm", "BatchNormGrad", "Normalize", "LayerNorm", "LayerNormGrad", "Lrn", "LrnGrad"),
    *("SoftmaxGrad", "LogSoftmaxGrad", "Gelu", "GeluGrad"),
}
# Logarithms of numbers near 1 and the like, with errors relative to 1: oneDNN's log_softmax was
# measured to be off by 1 to 2e-6.
ABSOLUTE = {"LogSoftmax": 32.0, "SoftmaxCrossEntropy": 2.0, "CtcLoss": 2.0, "CtcLossGrad": 2.0}
ABSOLUTE["Elu"] = 2.0  # oneDNN computes exp(x) - 1


class Rounding:
    """The backend. `errors` generates the errors (None: exact); `largest` is the largest number
    seen.

    `infinite` names an operation that gave an infinity or NaN by merely selecting or adding
    moderate numbers. `singular` names one that kept a divisor from being 0: the derivative does not
    exist there, and rounding makes its gradient of a million or more arbitrary.
    """

    name, decodes = NAME, ()

    def __init__(self):
        self.errors, self.size, self.largest = None, 1.0, 0.0
        self.infinite = self.singular = ""

    def empty(self, size):
        return np.empty(size, np.uint8)

    def vector(self, values):
        return FlatVector(values.astype(np.float64))

    def program(self, graph, bindings=None, strict=False, tf32=False, constant_bindings=False):
        return Evaluation(graph, self, bindings or {})

    def rounded(self, array, dtype, times=1.0):
        """Returns `array` as if rounded to `dtype`; unchanged without errors."""
        if self.errors is None or dtype not in UNIT:
            return array
        unit = times * self.size * UNIT[dtype]
        return array * (1 + unit * self.errors.uniform(-1, 1, array.shape))

    def logarithm(self, array, dtype, times):
        """Returns `array` with absolute errors relative to 1, half of each common to all."""
        if self.errors is None or dtype not in UNIT:
            return array
        found = self.errors.uniform(-1, 1, array.shape) + self.errors.uniform(-1, 1)
        return array + times * self.size * UNIT[dtype] * found

    def summed(self, array, dtype, times=1.0):
        """Returns terms as if each term and each partial sum were rounded; many terms share the
        latter.

        The order in which a kernel adds is unknown, so each index of each axis gets an error.
        """
        if self.errors is None or dtype not in UNIT:
            return array
        found = self.errors.uniform(-1, 1, array.shape)
        for axis in range(array.ndim):
            shape = [n if i == axis else 1 for i, n in enumerate(array.shape)]
            found = found + self.errors.uniform(-1, 1, shape)
        return array * (1 + times * self.size * UNIT[dtype] * found)


class Evaluation:
    """Evaluates a graph node by node, with the part of Program's interface that replicas use."""

    def __init__(self, graph, backend, bindings):
        self.graph, self.backend, self.bindings, self.outputs = graph, backend, bindings, {}
        self.inside = {}  # decomposed nodes
        self.constants = {
            t: wide(t.value)
            for t in (*(t for node in graph.nodes for t in node.inputs), *graph.outputs.values())
            if t.value is not None
        }

    def run(self, feeds=None, after=None):
        """Returns {name: array} of the outputs; bound outputs are also written to their arrays."""
        with np.errstate(all="ignore"):
            values = self._evaluated(feeds or {})
        for name, tensor in self.graph.outputs.items():
            self.outputs[name] = values[tensor]
            if name in self.bindings:
                np.copyto(self.bindings[name], values[tensor])
        return self.outputs

    def refresh(self, version=None):
        """Does nothing: every run computes everything."""

    def number(self, name):
        return float(self.outputs[name])

    def _evaluated(self, feeds):
        values = dict(self.constants)
        for name, tensor in self.graph.inputs.items():
            if name in self.bindings:
                values[tensor] = self.bindings[name].copy()
            else:
                values[tensor] = as_fed(name, feeds[name], tensor)
        for node in self.graph.nodes:
            self._evaluate(node, values)
        return values

    def _evaluate(self, node, values):
        arrays, kind = [values[t] for t in node.inputs], node.op.kind
        results = self._results(node, kind, arrays)
        for tensor, result in zip(node.outputs, results, strict=True):
            result = wide(result)
            if kind not in EXACT or narrows(node, tensor):
                result = self.backend.rounded(result, tensor.spec.dtype, COARSE.get(kind, 1.0))
            if kind in ABSOLUTE:
                result = self.backend.logarithm(result, tensor.spec.dtype, ABSOLUTE[kind])
            values[tensor] = result
        self._note(node, results)

    def _results(self, node, kind, arrays):
        """Returns the results of `node` as a tuple, with internal errors only."""
        if kind == "Cast" and is_float(node.op.dtype):
            return (arrays[0],)
        if self.backend.errors is not None:
            if kind in DECOMPOSED:
                return self._decomposed(node, arrays)
            if kind in SUMS:
                arrays = self._terms(node, arrays)
        results = node.op.reference(*arrays)
        return results if isinstance(results, tuple) else (results,)

    def _decomposed(self, node, arrays):
        """Returns the results of a decomposition into simpler operations, each with its errors."""
        if node not in self.inside:
            inputs = [Tensor(Spec(t.shape, computing_dtype(t.spec.dtype))) for t in node.inputs]
            outputs = simpler(node.op, inputs)
            self.inside[node] = inputs, outputs, topological(outputs)
        inputs, outputs, nodes = self.inside[node]
        values = dict(zip(inputs, arrays, strict=True))
        for inner in nodes:
            values |= {t: wide(t.value) for t in inner.inputs if t.value is not None}
            self._evaluate(inner, values)
        return tuple(values[tensor] for tensor in outputs)

    def _terms(self, node, arrays):
        times = max(COARSE.get(node.op.kind, 1.0), terms_of(node) / SHORT)
        pairs = zip(arrays, node.inputs, strict=True)
        return [self.backend.summed(array, tensor.spec.dtype, times) for array, tensor in pairs]

    def _note(self, node, results):
        """Records the largest number computed, and the first operation to make an infinity."""
        first, kind = node.outputs[0], node.op.kind
        if self.backend.errors is None and guards(node, results[0]):
            self.backend.singular = node.scope or "the loss"
        if self.backend.errors is not None or first.spec.dtype not in UNIT or not first.spec.size:
            return
        largest = float(np.abs(results[0]).max())
        largest = np.inf if np.isnan(largest) else largest
        if largest == np.inf and kind in EXACT | SUMS and self.backend.largest < MODERATE:
            self.backend.infinite = self.backend.infinite or f"{kind} in {node.scope}"
        if kind not in EXACT or largest == np.inf:
            self.backend.largest = max(self.backend.largest, largest)


def terms_of(node):
    """Returns roughly the number of terms in each result of a sum."""
    sizes = [t.spec.size for t in node.inputs if is_float(t.spec.dtype)]
    share = prod(sizes) / max(1, node.outputs[0].spec.size)
    return share ** (1 / max(1, len(sizes)))


def guards(node, result):
    """Returns whether a maximum with a tiny constant returned the constant."""
    least = next((t.value for t in node.inputs if t.value is not None and t.value.size == 1), None)
    tiny = node.op.kind == "Maximum" and least is not None and 0 < least.max() <= TINY
    return bool(tiny and (result == least).any())


def simpler(op, inputs):
    """Returns the outputs of an operation, decomposed, as a tuple."""
    if op.kind in ("BatchNorm", "LayerNorm"):
        return normalized(op, *inputs)
    outputs = op.decompose(*inputs)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def normalized(op, x, gamma, beta):
    """Returns (y, mean, variance) of BatchNorm or LayerNorm, of which only gradients decompose."""
    mean, variance = op.statistics(x)
    weight = op.along if hasattr(op, "along") else op.wide
    y = op.normalize(x, mean, variance)
    return ops.add(ops.mul(y, weight(gamma, x)), weight(beta, x)), mean, variance


def narrows(node, tensor):
    """Returns whether a result has a less precise type than an input."""
    return any(UNIT.get(t.spec.dtype, 0) < UNIT.get(tensor.spec.dtype, 0) for t in node.inputs)


def wide(value):
    """Converts floats to float64; leaves others unchanged."""
    value = np.asarray(value)
    if value.dtype == np.float64 or not is_float(value.dtype):
        return value
    return value.astype(np.float64)


def as_fed(name, value, tensor):
    value = np.asarray(value)
    if value.shape != tensor.shape:
        raise ShapeError(f"input {name!r} needs {tensor.shape}, got {value.shape}")
    return wide(value.astype(np.float64 if is_float(tensor.dtype) else tensor.dtype))


BACKEND = Rounding()


@contextmanager
def available():
    """Registers the backend during the block only, so that no other test sees it."""
    base.MODULES[NAME] = __name__
    try:
        yield BACKEND
    finally:
        del base.MODULES[NAME]
