"""A backend that evaluates graphs in float64, with rounding errors of chosen size put in at random.

Each result of an operation is multiplied by 1 + d, with d at random within half a unit in the last
place of the type that the graph gives it, as if it had been rounded to that type. Without errors
it is the oracle; the spread of a few runs with errors says how well float32 or bfloat16 can tell
each number, that of the terms that cancel each other included.

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
# A kernel that adds n terms one after the other may be off by n / 2 roundings of the sum, as where
# padding makes many terms equal: Higham, Accuracy and stability (2002), 4.2. Longer sums than this
# are allowed n / SHORT times the errors of short ones.
SHORT = 64
TINY = 1e-6  # constants below it are there lest something be divided by 0
MODERATE = 1e15  # below it products and sums are finite in float32
UNIT = {"bfloat16": 2.0**-9, "float16": 2.0**-12, "float32": 2.0**-24, "float64": 0.0}
# Results that are one of the numbers given, or a whole number: nothing to round.
EXACT = {
    *("Reshape", "Transpose", "BroadcastTo", "Slice", "Pad", "Concat", "Copy", "StopGradient"),
    *("SequenceToImage", "ImageToSequence", "ReverseTime", "Unfold", "Gather", "OneHot"),
    *("Relu", "ReluGrad", "Max", "Equal", "Maximum", "Minimum", "Greater", "Where", "Neg", "Abs"),
    *("Sign", "MaxPool", "MaxPoolPick", "Uniform", "Cast"),
}
# Results of many terms: errors are relative to the terms, not to what is left of them.
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

# Kernels with errors beyond one rounding: how many they are allowed. A recurrent layer rounds at
# each step and gate.
COARSE = dict.fromkeys(("Lstm", "Gru", "SimpleRnn", "RecurrentGrad"), 4.0)
# Kernels for what is made of several operations: statistics within them are rounded as well.
DECOMPOSED = {
    *("BatchNorm", "BatchNormGrad", "Normalize", "LayerNorm", "LayerNormGrad", "Lrn", "LrnGrad"),
    *("SoftmaxGrad", "LogSoftmaxGrad", "Gelu", "GeluGrad"),
}
# Logarithms of numbers near 1, and the like, whose error is one of the 1: oneDNN's log_softmax was
# measured to be 1 to 2e-6 off.
ABSOLUTE = {"LogSoftmax": 32.0, "SoftmaxCrossEntropy": 2.0, "CtcLoss": 2.0, "CtcLossGrad": 2.0}
ABSOLUTE["Elu"] = 2.0  # oneDNN has exp(x) - 1


class Rounding:
    """The backend. `errors` makes the errors (None: exact); `largest` is the largest number met.

    `infinite` names an operation that gave an infinite number, or none, though it only picks among
    moderate numbers, or adds them. `singular` names one that kept a divisor from being 0: there is
    no derivative, and a gradient of a million or more, of which rounding leaves anything.
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
        """`array` as if it had been rounded to `dtype`; itself without errors."""
        if self.errors is None or dtype not in UNIT:
            return array
        unit = times * self.size * UNIT[dtype]
        return array * (1 + unit * self.errors.uniform(-1, 1, array.shape))

    def logarithm(self, array, dtype, times):
        """`array` with errors as large as those of 1, half of each common to all."""
        if self.errors is None or dtype not in UNIT:
            return array
        found = self.errors.uniform(-1, 1, array.shape) + self.errors.uniform(-1, 1)
        return array + times * self.size * UNIT[dtype] * found

    def summed(self, array, dtype, times=1.0):
        """Terms as if each and each partial sum had been rounded; those are common to many terms.

        As nobody knows which terms a kernel adds first, there is an error for each index of each
        axis.
        """
        if self.errors is None or dtype not in UNIT:
            return array
        found = self.errors.uniform(-1, 1, array.shape)
        for axis in range(array.ndim):
            shape = [n if i == axis else 1 for i, n in enumerate(array.shape)]
            found = found + self.errors.uniform(-1, 1, shape)
        return array * (1 + times * self.size * UNIT[dtype] * found)


class Evaluation:
    """A graph that is evaluated node by node; what replicas ask of a Program."""

    def __init__(self, graph, backend, bindings):
        self.graph, self.backend, self.bindings, self.outputs = graph, backend, bindings, {}
        self.inside = {}  # nodes by way of simpler operations
        self.constants = {
            t: wide(t.value)
            for t in (*(t for node in graph.nodes for t in node.inputs), *graph.outputs.values())
            if t.value is not None
        }

    def run(self, feeds=None, after=None):
        """{name: array} of the outputs; those that are bound are written to their arrays."""
        with np.errstate(all="ignore"):
            values = self._evaluated(feeds or {})
        for name, tensor in self.graph.outputs.items():
            self.outputs[name] = values[tensor]
            if name in self.bindings:
                np.copyto(self.bindings[name], values[tensor])
        return self.outputs

    def refresh(self, version=None):
        """Nothing to do: all is worked out in each run."""

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
        """What the operation of `node` gives, a tuple, with errors within it but not behind it."""
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
        """The results by way of simpler operations, each with its errors."""
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
        """Keeps the largest number that was computed, and who made infinity of finite numbers."""
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
    """About how many terms each result of a sum has."""
    sizes = [t.spec.size for t in node.inputs if is_float(t.spec.dtype)]
    share = prod(sizes) / max(1, node.outputs[0].spec.size)
    return share ** (1 / max(1, len(sizes)))


def guards(node, result):
    """Whether a maximum with a tiny constant gave the constant."""
    least = next((t.value for t in node.inputs if t.value is not None and t.value.size == 1), None)
    tiny = node.op.kind == "Maximum" and least is not None and 0 < least.max() <= TINY
    return bool(tiny and (result == least).any())


def simpler(op, inputs):
    """The outputs of an operation, a tuple, by way of simpler ones."""
    if op.kind in ("BatchNorm", "LayerNorm"):
        return normalized(op, *inputs)
    outputs = op.decompose(*inputs)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def normalized(op, x, gamma, beta):
    """(y, mean, variance) of BatchNorm and LayerNorm, which only their gradients decompose."""
    mean, variance = op.statistics(x)
    weight = op.along if hasattr(op, "along") else op.wide
    y = op.normalize(x, mean, variance)
    return ops.add(ops.mul(y, weight(gamma, x)), weight(beta, x)), mean, variance


def narrows(node, tensor):
    """Whether a result has fewer digits than what it is made of."""
    return any(UNIT.get(t.spec.dtype, 0) < UNIT.get(tensor.spec.dtype, 0) for t in node.inputs)


def wide(value):
    """Floats as float64, others as they are."""
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
    """The backend under its name while the block runs; no other test shall meet it."""
    base.MODULES[NAME] = __name__
    try:
        yield BACKEND
    finally:
        del base.MODULES[NAME]
