"""ONNX files computed by onnxruntime, as predictors."""

from typing import Any

import numpy as np

from sparkdl.data.whole_files import read_whole
from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError, needs_package
from sparkdl.interop.onnx.messages import message_of
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor
from sparkdl.training.rounds.replica import count_threads

ORT = b"ORTM"  # bytes 4 to 8 of files in onnxruntime's own format
# {onnxruntime type: numpy type}
TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int8)": "int8",
    "tensor(int16)": "int16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(uint8)": "uint8",
    "tensor(uint16)": "uint16",
    "tensor(uint32)": "uint32",
    "tensor(bool)": "bool",
}


class OnnxFilePredictor(Predictor):
    """A file and the specs of its inputs and outputs; subclasses compute it.

    A file whose first axis is fixed to 1 is computed example by example.
    """

    def __init__(self, path: str) -> None:
        self.path = str(path)
        # Arrays are sent without a copy.
        self.content = np.frombuffer(read_whole(self.path), np.uint8)
        inputs, outputs = self._values()
        self.single = any(shape[:1] == [1] for _, _, shape in inputs)
        self.inputs = {name: self._spec(name, *rest) for name, *rest in inputs}
        self.outputs = {name: self._spec(name, *rest) for name, *rest in outputs}
        if any(None in spec.shape for spec in self.inputs.values()):
            self.outputs = {name: with_open_axes(spec) for name, spec in self.outputs.items()}

    def _values(self):
        """Returns the inputs and the outputs: lists of (name, type, list of int or None or text).

        A type is a numpy type, or None for values that are not arrays of numbers.
        """
        raise NotImplementedError

    def _function(self):
        """Returns a function ({input: array}, list of outputs) -> their arrays."""
        raise NotImplementedError

    def _spec(self, name, dtype, shape):
        if dtype is None or not shape:
            raise UnsupportedError(
                f"{self.path}: {name} must be an array of numbers whose first axis is that "
                f"of examples, got {dtype or 'something else'} of {shape}"
            )
        first, *rest = shape
        if isinstance(first, int) and not (first == 1 and self.single):
            raise UnsupportedError(
                f"{self.path}: {name} must have a first axis that is open, or 1 in all "
                f"inputs and outputs, got {shape}; export it with a dynamic axis"
            )
        return ArraySpec(dtype, tuple(axis if isinstance(axis, int) else None for axis in rest))

    def load(self, outputs: list[str]) -> Any:
        function = self._function()

        def predict(arrays):
            return dict(zip(outputs, function(arrays, outputs), strict=True))

        return one_by_one(predict) if self.single else predict


class OnnxPredictor(OnnxFilePredictor):
    """An ONNX file that onnxruntime computes on the CPU, with the threads of the task.

    A file whose first axis is fixed to 1 is computed example by example.

    Parameters
    ----------
    path : str
        Local or a URI; read here and sent to executors.

    Raises
    ------
    ConfigError
        onnxruntime is not installed.
    DataError
        The file is not one that onnxruntime can load.
    UnsupportedError
        An input or output is no array of numbers, its first axis is not that of examples, or
        weights are in other files.
    """

    def _session(self):
        runtime = load_onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = count_threads(), 1
        content = self.content.tobytes()
        try:
            return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors share no base class
            raise DataError(f"{self.path} cannot be loaded by onnxruntime: {error}") from error

    def _values(self):
        content = self.content.tobytes()
        if content[4:8] != ORT:  # an ORT file contains its weights
            message_of(content, self.path)  # no external files for onnxruntime
        session = self._session()
        return [
            [(value.name, TYPES.get(value.type), value.shape) for value in values]
            for values in (session.get_inputs(), session.get_outputs())
        ]

    def _function(self):
        session = self._session()
        return lambda arrays, outputs: session.run(outputs, arrays)


def with_open_axes(spec):
    """Returns the ArraySpec of an output with open axes, since lengths in the file may vary.

    Exporters write the lengths of their example inputs.
    """
    return ArraySpec(spec.dtype, (None,) * len(spec.shape))


def one_by_one(predict):
    """Returns a function that computes one example at a time."""

    def each(arrays):
        n = len(next(iter(arrays.values())))
        parts = [predict({k: v[i : i + 1] for k, v in arrays.items()}) for i in range(n)]
        shapes = {tuple(array.shape[1:] for array in part.values()) for part in parts}
        if len(shapes) > 1:
            raise ShapeError(f"outputs of examples must have one shape, got {sorted(shapes)}")
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    return each


def load_onnxruntime() -> Any:
    """Returns onnxruntime; ConfigError if it is not installed."""
    where = "onnxruntime in each process"
    with needs_package("OnnxPredictor", where, "pip install onnxruntime", ConfigError):
        import onnxruntime
    return onnxruntime
