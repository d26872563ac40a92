"""ONNX files computed by onnxruntime, as predictors."""

from typing import Any

import numpy as np

from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError
from sparkdl.interop.predictors.predictor import ArraySpec, Predictor
from sparkdl.training.rounds.replica import count_threads

# {type of onnxruntime: of numpy}
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


class OnnxPredictor(Predictor):
    """An ONNX file that onnxruntime computes on the processor, with the threads of the task.

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
        An input or output is no array of numbers, or its first axis is not that of examples.
    """

    def __init__(self, path: str) -> None:
        self.path = str(path)
        with files.open(self.path) as file:
            self.content = np.frombuffer(file.read(), np.uint8)  # which travels without a copy
        session = self._session()
        inputs, outputs = session.get_inputs(), session.get_outputs()
        self.single = any(value.shape[:1] == [1] for value in inputs)
        self.inputs = {value.name: self._spec(value) for value in inputs}
        self.outputs = {value.name: self._spec(value) for value in outputs}

    def _session(self):
        runtime = load_onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = count_threads(), 1
        content = self.content.tobytes()
        try:
            return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # each of its kinds is a class of its own
            raise DataError(f"{self.path} cannot be loaded by onnxruntime: {error}") from error

    def _spec(self, value):
        if value.type not in TYPES or not value.shape:
            raise UnsupportedError(
                f"{self.path}: {value.name} must be an array of numbers whose first axis is that "
                f"of examples, got {value.type} of {value.shape}"
            )
        first, *rest = value.shape
        if isinstance(first, int) and not (first == 1 and self.single):
            raise UnsupportedError(
                f"{self.path}: {value.name} must have a first axis that is open, or 1 in all "
                f"inputs and outputs, got {value.shape}; export it with a dynamic axis"
            )
        shape = tuple(axis if isinstance(axis, int) else None for axis in rest)
        return ArraySpec(TYPES[value.type], shape)

    def load(self, outputs: list[str]) -> Any:
        session = self._session()

        def predict(arrays):
            return dict(zip(outputs, session.run(outputs, arrays), strict=True))

        return one_by_one(predict) if self.single else predict


def one_by_one(predict):
    """Returns a function that computes each example alone."""

    def each(arrays):
        n = len(next(iter(arrays.values())))
        parts = [predict({k: v[i : i + 1] for k, v in arrays.items()}) for i in range(n)]
        shapes = {tuple(array.shape[1:] for array in part.values()) for part in parts}
        if len(shapes) > 1:
            raise ShapeError(f"outputs of examples must have one shape, got {sorted(shapes)}")
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    return each


def load_onnxruntime() -> Any:
    """Returns onnxruntime; ConfigError where it is not installed."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ConfigError(
            f"OnnxPredictor needs onnxruntime in each process, got {error}; pip install onnxruntime"
        ) from error
    return onnxruntime
