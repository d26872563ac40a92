"""ONNX files computed by sparkdl's engine, as predictors."""

from onnx import TensorProto, helper

from sparkdl.interop.onnx.onnx_function import OnnxFunction
from sparkdl.interop.onnx.onnx_predictor import TYPES, OnnxFilePredictor
from sparkdl.training.rounds.replica import limit_threads


class OnnxFunctionPredictor(OnnxFilePredictor):
    """An ONNX file that an OnnxFunction computes, without onnxruntime.

    A file whose first axis is fixed to 1 is computed example by example. Each new input shape is
    compiled once per process, also that of a shorter last batch.

    Parameters
    ----------
    path : str
        Local or a URI; read here and sent to executors.

    Raises
    ------
    DataError
        The file is damaged.
    UnsupportedError
        Lists all nodes that cannot be computed; or an input or output is no array of numbers, or
        its first axis is not that of examples.
    """

    def _values(self):
        function = self._open()
        return [
            [(name, *type_of(kind.tensor_type)) for name, kind in types.items()]
            for types in (function.input_types, function.output_types)
        ]

    def _function(self):
        function = self._open()
        limit_threads()

        def compute(arrays, outputs):
            found = function.run(arrays)
            return [found[name] for name in outputs]

        return compute

    def _open(self):
        return OnnxFunction.of_content(self.content.tobytes(), self.path)


def type_of(tensor):
    """Returns (numpy type or None, shape) of a TypeProto.Tensor; open axes are text.

    Paddle writes -1 for open axes.
    """
    known = tensor.elem_type in TensorProto.DataType.values()
    name = helper.tensor_dtype_to_np_dtype(tensor.elem_type).name if known else None
    axes = tensor.shape.dim
    shape = [axis.dim_value if axis.dim_value > 0 else axis.dim_param or "?" for axis in axes]
    return name if name in TYPES.values() else None, shape
